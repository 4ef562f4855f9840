"""A learner's function takes the place of the library's, is counted, and goes away again."""

import pytest

from sampan import learn
from sampan.learn import slots


def test_the_library_runs_through_the_learners_function_and_back(practice):
    @learn.exercise("practice.double")
    def double(x):
        return x + x + 0.5

    assert practice.quadruple(1) == 5.5  # 2.5, then 5.5: through the learner's loop
    assert learn.calls("practice.double") == 2
    learn.reference("practice.double")
    assert practice.quadruple(1) == 4
    assert learn.calls("practice.double") == 2


def test_only_calls_by_the_library_count(practice):
    @learn.exercise("practice.double")
    def double(x):
        return x + x

    assert double(3) == 6
    practice.double(3)
    assert learn.calls("practice.double") == 0
    assert slots.get("practice.double").calls == 1


def test_an_operators_body_is_replaced_not_the_function_around_it(practice):
    around = practice.negate

    @learn.exercise("practice.negate")
    def negate(x):
        return -x - 1, lambda g: -g

    assert practice.negate is around
    assert practice.negate(1) == -2
    assert learn.calls("practice.negate") == 1


def test_reference_for_a_few_lines_only(practice):
    @learn.exercise("practice.double")
    def double(x):
        return 0

    with learn.reference("practice.double") as back:
        assert practice.double(4) == 8
        assert "practice.double" in repr(back)
    assert practice.double(4) == 0


def test_writing_it_again_starts_anew_and_keeps_the_first_reference(practice):
    for answer in (1, 2):

        @learn.exercise("practice.double")
        def double(x, answer=answer):
            return answer

    assert practice.quadruple(0) == 2
    assert learn.calls("practice.double") == 2
    learn.reference("practice.double")
    assert practice.double(5) == 10


def test_only_one_slot_at_a_time_and_everything_back_afterwards(practice):
    @learn.exercise("practice.double")
    def double(x):
        return 0

    @learn.exercise("practice.negate")
    def negate(x):
        return x, lambda g: g

    with slots.only("practice.negate"):
        assert practice.double(2) == 4
        assert practice.negate(2) == 2
    assert practice.double(2) == 0
    assert practice.negate(2) == 2


@pytest.mark.parametrize("name", ["double", "practice.missing", "nowhere.at.all", "", "practice.", 3])
def test_a_slot_that_is_none(practice, name):
    with pytest.raises(ValueError, match="is not a slot"):
        learn.exercise(name)


def test_parameters_must_be_those_of_the_library(practice):
    with pytest.raises(TypeError, match=r"takes \(a, b\).*calls it with \(x\)"):

        @learn.exercise("practice.double")
        def double(a, b):
            return a

    assert practice.double(2) == 4


def test_a_forbidden_name_is_refused_at_once(practice):
    with pytest.raises(ValueError, match=r"'math.fsum' is not allowed"):

        @learn.exercise("practice.double", forbid=("math.fsum",))
        def double(x):
            import math

            return math.fsum([x, x])

    assert practice.double(2) == 4


def test_an_error_inside_the_librarys_module_is_not_hidden(practice, monkeypatch):
    def broken(name, *rest):
        raise ModuleNotFoundError("no module named 'gone'", name="gone")

    monkeypatch.setattr(slots.importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="gone"):
        learn.exercise("practice.double")


@pytest.mark.parametrize("earlier", sorted(slots.RENAMED))
def test_an_earlier_name_means_the_same_slot(earlier: str) -> None:
    assert slots.get(earlier) is slots.get(slots.RENAMED[earlier])
    assert slots.get(earlier).name == slots.RENAMED[earlier]
