"""Sampan beside PaddlePaddle's recorded signatures and answers. `make parity` asks PaddlePaddle itself."""

import functools
import types

import pytest

import sampan
from tools.parity import aliasing, cases, records, surface, table
from tools.parity.perform import compare, perform
from tools.parity.spec import Array, binary, call, given, reduction, unary

NAMES = surface.names()
FILES = [(file, name) for file, names in cases.load().items() for name in names]


@functools.cache
def record(file):
    return records.read(file)


@functools.cache
def differing(file, name):
    """(call, how it differs) for the recorded calls of a name that do."""
    return list(_differing(file, name))


def _differing(file, name):
    answers = record(file).get(name, {})
    for index, one in enumerate(cases.load()[file][name]):
        expected = answers.get(cases.key(index, one))
        if expected is None:
            yield one, f"has no record: run `python -m tools.parity {name}`"
        elif text := compare(expected, perform(sampan, name, one), one.tolerance):
            yield one, text


@pytest.mark.parametrize("area", surface.areas())
def test_names_and_signatures(area):
    wrong = []
    for name in (f"{area}.{last}" for last in surface.areas()[area]):
        theirs, ours = records.signatures().get(name, "missing"), surface.signature(sampan, name)
        kind = "missing" if ours is surface.MISSING else "signature"
        same = ours is not surface.MISSING and surface.same(theirs, ours)
        if not same and not table.reasoned(name, kind) and (name, kind) not in table.not_yet():
            wrong.append(f"{kind} {name} {surface.shown(theirs)}, here {surface.shown(ours)}")
    assert not wrong, "differs from PaddlePaddle without a reason:\n" + "\n".join(wrong)


@pytest.mark.parametrize(("file", "name"), FILES, ids=[name for _, name in FILES])
def test_answers(file, name):
    if surface.find(sampan, name) is surface.MISSING or (name, "answer") in table.not_yet():
        return  # named in missing.txt, or reasoned: test_names_and_signatures sees to it
    wrong = [
        f"{one}: {text}"
        for one, text in differing(file, name)
        if not table.reasoned(name, "answer", one, text)
    ]
    assert not wrong, f"{name} differs from PaddlePaddle:\n" + "\n".join(wrong)


@functools.cache
def sharing(file, name):
    """(call, how it differs) for the recorded calls of a name whose arrays share memory in another way."""
    return list(_sharing(file, name))


def _sharing(file, name):
    recorded = shared(file).get(name, {})
    for index, one in enumerate(cases.load()[file][name]):
        if cases.key(index, one) not in recorded:
            yield one, f"has no record of aliasing: run `python -m tools.parity {name}`"
        elif text := aliasing.differs(
            sampan, name, one, recorded[cases.key(index, one)], both=file == "memory"
        ):
            yield one, text


@functools.cache
def shared(file):
    return records.aliasing(file)


@pytest.mark.parametrize(("file", "name"), FILES, ids=[name for _, name in FILES])
def test_what_shares_memory(file, name):
    if surface.find(sampan, name) is surface.MISSING:
        return
    wrong = [
        f"{one}: {text}"
        for one, text in sharing(file, name)
        if not table.reasoned(name, "aliasing", one, text)
    ]
    assert not wrong, f"{name} differs from PaddlePaddle in what shares memory:\n" + "\n".join(wrong)


@pytest.mark.parametrize("entry", table.differences(), ids=lambda entry: f"{entry.kind} {entry.names[:40]}")
def test_each_reasoned_difference_still_differs(entry):
    assert len(entry.reason.split()) > 3, "a reason is a sentence"
    covered = [name for name in (*NAMES, *(name for _, name in FILES)) if entry.names_it(name)]
    assert covered, f"{entry.names}: no such name"
    if entry.kind in ("answer", "aliasing"):
        look = differing if entry.kind == "answer" else sharing
        pairs = [(file, name) for file, name in FILES if entry.names_it(name)]
        assert any(
            entry.covers(name, entry.kind, one, text)
            for file, name in pairs
            for one, text in look(file, name)
        )
        return
    for name in covered:
        ours = surface.signature(sampan, name)
        assert (ours is surface.MISSING) == (entry.kind == "missing"), f"{name}: the entry is out of date"
        assert ours != records.signatures().get(name), f"{name} no longer differs: take it out of the table"


def test_cases_are_about_known_names_and_recorded_once():
    unknown = sorted({name for _, name in FILES if not name.endswith("__")} - set(NAMES))
    assert not unknown, f"not in tests/parity/names.txt: {unknown}"
    for path in (surface.FOLDER / "recorded").glob("*.json.gz"):
        assert path.stat().st_size < records.LIMIT, path
    assert set(records.signatures()) == set(NAMES), "run `make parity`"


def test_what_is_compared_can_fail():
    """A comparison that accepts anything would pass everywhere."""
    x = Array((2, 3))
    right = perform(sampan, "paddle.multiply", call(x, x))
    assert not compare(right, right)
    assert "out" in compare(right, perform(sampan, "paddle.add", call(x, x)))
    assert "float64" in compare(
        right, perform(sampan, "paddle.multiply", call(*[Array((2, 3), "float64")] * 2))
    )
    assert "[3, 2]" in compare(right, perform(sampan, "paddle.multiply", call(*[Array((3, 2))] * 2)))
    assert "grad" in compare(right, {**right, "grad": [right["grad"][0], None]})
    assert "raise" in compare(right, perform(sampan, "paddle.multiply", call(x, Array((2, 4)))))
    assert "raise" in compare({"raised": "ValueError", "why": ""}, right)
    large = perform(sampan, "paddle.abs", call(given(list(range(-20, 20)))))
    moved = perform(sampan, "paddle.abs", call(given([*range(-20, 18), 19, 18])))
    assert not compare(large, large)
    assert "out" in compare(large, moved)


def test_sharing_is_found_by_writing():
    """Each way to differ is seen: a view for a copy, a copy for a view, one entry in several places."""
    x = Array((2, 3))
    view = aliasing.aliases(sampan, "paddle.reshape", call(x, [6]))
    copy = aliasing.aliases(sampan, "paddle.clone", call(x))
    wide = aliasing.aliases(sampan, "paddle.as_strided", call(Array((3,)), [2, 2], [1, 0]))
    assert (view, copy, wide) == ("0>a a>0", "", "0! a>0")
    assert "shares 0>a" in aliasing.compare(copy, view)
    assert "does not share 0>a" in aliasing.compare(view, copy)
    assert "0!" in aliasing.compare(view, wide)
    assert not aliasing.compare("0!", view)


def signature_of(function):
    return surface.signature(types.SimpleNamespace(function=function), "paddle.function")


@pytest.mark.parametrize(
    ("theirs", "ours", "same"),
    [
        (lambda x, axis=None: 0, lambda x, axis=None: 0, True),
        (lambda x, axis=None: 0, lambda x, axis=None, more=0: 0, True),
        (lambda x, axis=None: 0, lambda x, axis=None, *, more=0: 0, True),
        (lambda x, axis=None: 0, lambda x, axis=None, *rest, **others: 0, True),
        (lambda x, *, out=None: 0, lambda x, out=None: 0, True),
        (lambda x, *, out=None: 0, lambda x, **others: 0, True),
        (lambda x, /: 0, lambda x: 0, True),
        (lambda x, p=1: 0, lambda x, p=1.0: 0, True),
        (lambda *args, **kwargs: 0, lambda x: 0, True),
        (lambda x: 0, lambda x=0: 0, True),
        (lambda x, axis=None: 0, lambda x, axis=0: 0, False),
        (lambda x, axis=None: 0, lambda axis=None, x=None: 0, False),
        (lambda x, axis=None: 0, lambda x, *, axis=None: 0, False),
        (lambda x, axis=None: 0, lambda x: 0, False),
        (lambda x: 0, lambda x, more: 0, False),
        (lambda x, *, out=None: 0, lambda x, *, out=1: 0, False),
        (lambda x, *rest: 0, lambda x: 0, False),
    ],
)
def test_signatures_are_the_same_when_every_call_is_taken(theirs, ours, same):
    assert surface.same(signature_of(theirs), signature_of(ours)) is same


@pytest.mark.parametrize("family", [unary(), binary(), reduction()], ids=["unary", "binary", "reduction"])
def test_families_have_the_cases_that_matter(family):
    shapes = [one.args[0].shape for one in family]
    assert () in shapes
    assert any(0 in shape for shape in shapes)
    assert {one.args[0].dtype for one in family} >= {"float32", "float64", "int64", "bool"}
