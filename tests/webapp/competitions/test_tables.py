"""What is said about a file, and how rows are divided."""

from __future__ import annotations

import numpy as np
import pytest

from studio import i18n
from studio.competitions import metrics
from studio.competitions.problems import Refused, told
from studio.competitions.tables import public_rows, read_solution, read_submission, sample
from tests.webapp.competitions.rooms import ROWS, answer, card, solution

CARD = card(seed="s")
SOLUTION = read_solution(solution(), CARD)
NUMBERS = card(metric="rmse", seed="s")
NUMBER_SOLUTION = read_solution(b"id,label\n" + b"".join(b"r%d,%d\n" % (n, n) for n in range(ROWS)), NUMBERS)


def problems(content: bytes, numbers: bool = False) -> dict[str, dict[str, object]]:
    with pytest.raises(Refused) as refused:
        read_submission(content, NUMBERS if numbers else CARD, NUMBER_SOLUTION if numbers else SOLUTION)
    for problem in refused.value.problems:  # each has its words in both languages
        assert all(told(problem, lang) for lang in i18n.LANGUAGES)
    return dict(refused.value.problems)


def row(n: int, value: str) -> tuple[bytes, bytes]:
    return b"r%d,%d\n" % (n, n % 2), b"r%d,%s\n" % (n, value.encode())


def numbers(*changed: tuple[bytes, bytes]) -> bytes:
    text = b"id,label\n" + b"".join(b"r%d,%d\n" % (n, n % 2) for n in range(ROWS))
    for old, new in changed:
        assert old in text
        text = text.replace(old, new)
    return text


def test_rows_may_come_in_any_order() -> None:
    header, *rows = answer(7).decode().splitlines()
    turned = "\r\n".join([header, *rows[::-1], ""]).encode("utf-8-sig")
    assert read_submission(turned, CARD, SOLUTION).values == read_submission(answer(7), CARD, SOLUTION).values
    swapped = "\n".join(",".join(line.split(",")[::-1]) for line in [header, *rows]).encode()
    assert (
        read_submission(swapped, CARD, SOLUTION).values["label"]
        == read_submission(answer(7), CARD, SOLUTION).values["label"]
    )


def test_the_preview_shows_what_was_read_and_nothing_that_steers_a_screen() -> None:
    text = answer(ROWS).replace(b"r0,a", b"r0,\x1b[31m\xe2\x80\xaea" + b"y" * 100)
    preview = read_submission(text, CARD, SOLUTION).preview
    assert preview["header"] == ["id", "label"] and preview["count"] == ROWS and len(preview["rows"]) == 5
    assert preview["rows"][0][1].startswith("\ufffd[31m\ufffdayy") and len(preview["rows"][0][1]) == 40


@pytest.mark.parametrize(
    ("content", "kind", "values"),
    [
        (b"", "empty", {}),
        (b"id,label\n", "empty", {}),
        (b"PK\x03\x04", "spreadsheet", {}),
        ("id,label\nr0,é".encode("latin-1"), "not_utf8", {}),
        (b"id,label\nr0,a\0", "not_utf8", {}),
        (b"id;label\nr0;a\n", "separator", {}),
        (b"id,label\nr0,a,b\n", "width", {"line": 2, "given": 3}),
        (b'id,label\nr0,"a\n', "not_csv", {}),
        (b"id\nr0\n", "missing_columns", {"columns": "label"}),
        (b",id,label\n0,r0,a\n", "extra_columns", {}),
        (b"id,label,label\nr0,a,a\n", "twice_columns", {"columns": "label"}),
        (answer(3)[:-6], "missing_ids", {"count": 1, "first": "r19"}),
        (answer(3) + b"r20,a\n", "extra_ids", {"count": 1, "first": "r20"}),
        (answer(3) + b"r4,a\n", "twice_ids", {"count": 1, "first": "r4"}),
        (answer(3) + b",a\n", "blank_ids", {"count": 1}),
        (answer(20).replace(b"r0,a", b"r0,"), "blank", {"line": 2}),
        (b"id,label\n" + b"r0,a\n" * 1100, "too_many_rows", {}),
        (b"x" * (3 << 20), "too_big", {}),
    ],
)
def test_a_wrong_file_is_explained(content: bytes, kind: str, values: dict[str, object]) -> None:
    found = problems(content)
    assert kind in found and values.items() <= found[kind].items(), found


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("one", "not_number"),
        ("", "not_number"),
        ("nan", "not_finite"),
        ("-inf", "not_finite"),
        ("1e999", "not_finite"),
        ("=1+1", "not_number"),
    ],
)
def test_a_wrong_number_is_named_with_its_line(text: str, kind: str) -> None:
    assert problems(numbers(row(4, text)), numbers=True)[kind] == {
        "column": "label",
        "count": 1,
        "line": 6,
        "value": text,
    }


def test_probabilities_are_between_0_and_1() -> None:
    wanted = card(metric="log_loss", seed="s")
    labels = read_solution(solution(), wanted)
    assert list(labels.columns) == ["a", "b"]
    good = "id,a,b\n" + "".join(f"r{n},0.4,0.6\n" for n in range(ROWS))
    assert read_submission(good.encode(), wanted, labels).submitted("log_loss", labels.public).shape == (
        10,
        2,
    )
    with pytest.raises(Refused) as refused:
        read_submission(good.replace("r3,0.4", "r3,1.4").encode(), wanted, labels)
    assert refused.value.problems == [
        ("not_probability", {"column": "a", "count": 1, "line": 5, "value": "1.4"})
    ]


def test_whole_numbers_that_pandas_wrote_as_floats_are_classes() -> None:
    labels = read_solution(solution().replace(b",a", b",0").replace(b",b", b",1"), CARD)
    text = solution().replace(b",a", b",0.0").replace(b",b", b",1.0")
    assert read_submission(text, CARD, labels).values["label"] == labels.targets["label"]


def test_nothing_that_is_said_depends_on_the_labels() -> None:
    """Two solutions with other labels: every refusal and preview is the same."""
    other = read_solution(solution().replace(b",a", b",q").replace(b",b", b",a"), CARD)
    for content in (
        answer(3)[:-6],
        answer(3) + b"r4,a\n",
        answer(20).replace(b"r0,a", b"r0,"),
        b"id,label\nr0,zzz\n",
    ):
        said = []
        for labels in (SOLUTION, other):
            with pytest.raises(Refused) as refused:
                read_submission(content, CARD, labels)
            said.append(refused.value.problems)
        assert said[0] == said[1]
    assert read_submission(answer(2), CARD, SOLUTION) == read_submission(answer(2), CARD, other)


def test_the_sample_is_valid_and_says_nothing() -> None:
    for metric in metrics.METRICS:
        wanted = card(metric=metric, seed="s")
        text = (
            solution()
            if metric not in ("rmse", "mae")
            else solution().replace(b",a", b",3").replace(b",b", b",4")
        )
        labels = read_solution(text, wanted)
        reading = read_submission(sample(labels, wanted), wanted, labels)
        assert all(len(set(values)) == 1 for values in reading.values.values()), metric


# ---- the split


def test_the_split_depends_on_ids_and_seed_alone() -> None:
    ids = [f"r{n}" for n in range(1000)]
    chosen = public_rows(ids, "seed", 0.3)
    assert chosen.sum() == 300
    assert (public_rows(ids, "seed", 0.3) == chosen).all()
    turned = public_rows(ids[::-1], "seed", 0.3)
    assert (turned[::-1] == chosen).all()
    both = (public_rows(ids, "other", 0.3) & chosen).sum()
    assert 50 < both < 130  # 90 expected of two independent ones
    assert public_rows(["a", "b"], "x", 0.05).sum() == 1 == public_rows(["a", "b"], "x", 0.95).sum()


def test_a_column_can_name_the_parts() -> None:
    text = "id,label,Usage\n" + "".join(f"r{n},a,{'Public' if n < 3 else 'Private'}\n" for n in range(8))
    wanted = card(split_column="Usage")
    assert read_solution(text.encode(), wanted).public.tolist() == [True] * 3 + [False] * 5
    for wrong, kind in (("Public", "solution.split"), ("Maybe", "solution.usage")):
        with pytest.raises(Refused) as refused:
            read_solution(text.replace("Private", wrong).encode(), wanted)
        assert refused.value.problems[0][0] == kind


def test_private_rows_never_change_the_public_score_nor_public_rows_the_private_one() -> None:
    rng = np.random.default_rng(0)
    rows = {"public": SOLUTION.public, "private": ~SOLUTION.public}

    def scores(values: list[str]) -> dict[str, float]:
        text = "id,label\n" + "".join(
            f"{one},{value}\n" for one, value in zip(SOLUTION.ids, values, strict=True)
        )
        reading = read_submission(text.encode(), CARD, SOLUTION)
        return {
            part: metrics.score(
                "accuracy", SOLUTION.labels("accuracy", mask), reading.submitted("accuracy", mask), 5, []
            )
            for part, mask in rows.items()
        }

    right = SOLUTION.targets["label"]
    assert scores(right) == {"public": 1.0, "private": 1.0}
    for n in rng.permutation(ROWS):
        values = [*right]
        values[n] = "wrong"
        changed = scores(values)
        part, other = ("public", "private") if SOLUTION.public[n] else ("private", "public")
        assert changed[part] == pytest.approx(0.9) and changed[other] == 1.0


@pytest.mark.parametrize(
    ("text", "changes", "kind"),
    [
        (b"key,label\nr0,a\nr1,b\n", {}, "solution.column"),
        (b"id,label\nr0,a\nr0,b\n", {}, "twice_ids"),
        (b"id,label\nr0,a\nr1,\n", {}, "solution.blank"),
        (b"id,label,more\nr0,a,b\nr1,a,b\n", {}, "solution.targets"),
        (b"id,label\nr0,a\nr1,2\n", {"metric": "rmse"}, "solution.numbers"),
        (b"id,label\nr0,a\nr1,a\n", {"metric": "auc"}, "solution.two_classes"),
        (b"id,label\nr0,id\nr1,a\n", {"metric": "log_loss"}, "solution.classes"),
        (b"id,label\nr0,a\n", {}, "solution.split"),
    ],
)
def test_a_wrong_solution_is_explained(text: bytes, changes: dict[str, object], kind: str) -> None:
    with pytest.raises(Refused) as refused:
        read_solution(text, card(**changes))
    assert kind in dict(refused.value.problems)
    assert all(told(problem, lang) for problem in refused.value.problems for lang in i18n.LANGUAGES)
