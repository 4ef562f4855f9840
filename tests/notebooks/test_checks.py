"""The hidden checks and the notebooks themselves, without running them."""

import re
from pathlib import Path

import numpy as np
import pytest

from sampan.learn import drivers, lessons
from sampan.learn.cases import Holds
from sampan.learn.plain import plain
from studio.grading import grader, proof, reading, release, translation
from studio.grading.cells import Code
from studio.grading.wire import encode
from tests.notebooks.library_calls import CALLS

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
EXERCISES = [(path, exercise) for path in NOTEBOOKS for exercise in grader.load_checks(path)]
THROUGH_THE_LIBRARY = {
    *("gradient", "expression", "second", "steps", "fit"),
    *("convolution_layer", "sequence", "attention_layer"),
    *("sparse_matmul", "submanifold"),
    *("embedding_gradient", "embedding_twice", "rows_clipped", "adagrad_steps", "hybrid_steps"),
    *("graph_made", "messages_summed", "messages_twice", "hops_sampled", "convolved", "network_trained"),
    *("graph_changed", "paths_counted", "paths_attended", "past_sampled"),
    *("powers", "powers_and_gradient", "mel_energies", "ctc_through_the_library", "texts_found"),
    *("frames_encoded", "pieces_convolved", "pieces_recognised", "partials_read", "recogniser_timed"),
    *("scales_converted", "weights_in_bits", "network_pruned", "student_taught"),
    *("program_called", "network_folded", "answers_in_arena"),
    *("workers_trained", "workers_saving"),
    *("rows_divided", "rows_cached", "pushes_of_the_library", "pushes_taken"),
}


def numbers(value):
    if isinstance(value, (list, tuple)):
        return sum(map(numbers, value))
    if isinstance(value, dict):
        return numbers(list(value.values()))
    return 0 if value is None or isinstance(value, (str, Holds)) else np.asarray(value).size


@pytest.mark.parametrize(("path", "exercise"), EXERCISES, ids=lambda value: getattr(value, "slot", ""))
def test_hidden_cases_cannot_be_guessed(path, exercise):
    one, other = ([*exercise.cases(np.random.default_rng(seed))] for seed in (1, 2))
    assert len(one) >= 4 and len({case.name for case in one}) == len(one)
    assert any(numbers(case.expected) >= 100 for case in one), "no case has a long answer"
    assert any(case.driver in THROUGH_THE_LIBRARY for case in one), "no case goes through the library"
    fresh = [
        encode(plain(list(a.args))) != encode(plain(list(b.args))) for a, b in zip(one, other, strict=True)
    ]
    assert sum(fresh) >= len(one) - 3  # a few cases are about a structure, not about numbers
    for case in one:
        assert case.driver in drivers._drivers
        assert all(isinstance(text, tuple) and len(text) == 2 for text in (case.name, case.hint))
        assert re.search("[一-鿿]", case.name[1]), case.name


def fits(names, expected):
    """Whether every name belongs to a part of the answer."""
    if names is None or isinstance(names, tuple):
        return names is None or all(isinstance(text, str) and text for text in names)
    parts = isinstance(expected, (list, tuple)) and len(names) == len(expected)
    return parts and all(map(fits, names, expected))


@pytest.mark.parametrize(("path", "exercise"), EXERCISES, ids=lambda value: getattr(value, "slot", ""))
def test_the_parts_of_an_answer_have_names(path, exercise):
    for case in [*exercise.cases(np.random.default_rng(1)), *lessons.exercise(exercise.slot).cases()]:
        names = drivers.answer_names(exercise.slot, case.driver, case.args)
        if not isinstance(case.expected, Holds):
            assert fits(names, case.expected), (case.name, case.driver, names)


IMPORTS = """
import functools, graphlib, heapq, operator
import numpy as np, torch, scipy, sampan, sampan as paddle
from sampan import kernels, learn, nn
from sampan.nn import functional as F
from sampan.sparse import operators
"""


def broken(exercise, *sources):
    codes = [
        Code(source, given=False, slots=tuple(release.slots_of(source))) for source in (IMPORTS, *sources)
    ]
    return reading.read(codes, [reading.Rule(exercise.slot, exercise.forbid)])[exercise.slot].broken


@pytest.mark.parametrize(("path", "exercise"), EXERCISES, ids=lambda value: getattr(value, "slot", ""))
def test_calls_of_a_library_break_the_rule(path, exercise):
    """In the function itself, in a helper that another cell defines, and in a name that stands for the call."""
    head = f'@learn.exercise("{exercise.slot}")\ndef mine(*given):\n    return '
    kept = []
    for call in CALLS[exercise.slot]:
        forms = (
            [f"{head}{call}"],
            [
                "def helper(*given):\n    return 0",
                f"def helper(*given):\n    out = {call}\n    return out",
                f"{head}helper()",
            ],
            [f"%%time\n{head}{call}"],
        )
        kept += [form for form in forms if not broken(exercise, *form)]
    assert not kept
    assert not broken(exercise, f"{head}0", f"print({CALLS[exercise.slot][0]})"), "a cell that only looks"


@pytest.mark.parametrize(("path", "exercise"), EXERCISES, ids=lambda value: getattr(value, "slot", ""))
def test_the_solution_the_wrong_ones_and_what_was_handed_out_keep_the_rule(path, exercise):
    """A wrong solution is to be caught by the hidden cases."""
    notebook = release.read(path)
    files = sorted((ROOT / "tests" / "notebooks" / "wrong" / path.stem).glob("*.py"))
    wrong = [proof._replace(notebook, [file]) for file in files if proof._wrong_slot(file) == exercise.slot]
    for learner in (notebook, release.release(notebook), *wrong):
        _, codes = grader._code_cells(learner, release.release(notebook))
        rule = grader._rule(exercise, release.release(notebook))
        assert reading.read(codes, [rule])[exercise.slot].broken == ""


@pytest.mark.parametrize(("path", "exercise"), EXERCISES, ids=lambda value: getattr(value, "slot", ""))
def test_every_exercise_has_a_lesson_and_titles_in_two_languages(path, exercise):
    lesson = lessons.exercise(exercise.slot)
    assert len(lesson.hints) == 3
    assert exercise.title and re.search("[一-鿿]", exercise.title_zh)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_carries_no_path_no_time_and_no_large_output(path):
    notebook = release.read(path)
    assert path.stat().st_size < 200_000
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            text = str(output)
            assert not re.search(r"/(home|root|work|tmp|usr)/|\d+(\.\d+)? ?(ms|µs|seconds)\b", text), text[
                :200
            ]
            assert output.output_type != "error"
        if "NBVAL_IGNORE_OUTPUT" in cell.source:
            assert not cell.outputs, "a figure or a timing is drawn anew, never kept"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_fixed_shape(path):
    notebook = release.read(path)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    text = "\n".join(line for line in text.lower().splitlines() if line.startswith("## "))
    parts = ["question", "picture", "small case", "library", "measured", "predict", "what you have seen"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert set(notebook.metadata.sampan) == {"title", "title_zh", "summary", "summary_zh", "minutes"}
    asked = set(re.findall(r'learn\.predict\("([\w.]+)"', "\n".join(cell.source for cell in notebook.cells)))
    assert asked and all(lessons.prediction(name) for name in asked)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_chinese_of_a_notebook_is_complete_and_up_to_date(path):
    assert translation.faults(release.read(path)) == []


@pytest.mark.parametrize("lesson", lessons.installed()[0].values(), ids=lambda lesson: lesson.slot)
def test_hints_are_in_two_languages(lesson):
    for english, chinese in lesson.hints:
        assert english.strip() and re.search("[一-鿿]", chinese) and not re.search("[一-鿿]", english)


@pytest.mark.parametrize("question", lessons.installed()[1].values(), ids=lambda question: question.name)
def test_predictions_are_in_two_languages(question):
    for english, chinese in (question.question, question.why):
        assert english.strip() and re.search("[一-鿿]", chinese) and not re.search("[一-鿿]", english)
    assert bool(question.unit[0]) == bool(question.unit[1])
