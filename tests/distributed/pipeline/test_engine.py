"""Errors of one process of a pipeline, in all of them."""

import pytest

from tests.distributed.pipeline import programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(("stage", "call"), [(0, 3), (1, 3), (1, 1)])
def test_an_error_of_one_stage_is_named_in_all_and_the_next_step_works(workers, stage, call):
    answers = workers(2)(programs.fails, stage, call)
    text = f"rank {stage} failed in the forward pass of micro-batch {call - 1} through stage {stage}: "
    for rank, ([(kind, told, note)], works) in enumerate(answers):
        assert works
        if rank == stage:
            assert (kind, told) == ("ArithmeticError", "no logarithm")
            assert text in note
        else:
            assert (kind, told) == ("CommunicationError", f"pipeline: {text}ArithmeticError: no logarithm")


def test_data_that_do_not_fit(workers):
    reads, waits = workers(2)(programs.wrong_batches)
    for (kind, text), reason in zip(
        reads,
        (
            "expected 8 rows, micro_batch_size 2 times accumulate_steps 4, got 7",
            "expected a list of 4 micro-batches, accumulate_steps, got 3",
            "expected it in the first and in the last stage, got None",
            "expected 4 micro-batches, accumulate_steps, got 2",
            "expected Tensors, got str",
        ),
        strict=True,
    ):
        assert kind in ("InvalidArgument", "InvalidType")
        assert reason in text
    for (_, text), (kind, told) in zip(reads, waits, strict=True):
        assert kind == "CommunicationError"
        assert told.startswith("pipeline: rank 0 failed in the forward pass of micro-batch 0 through stage 0")
        assert told.endswith(text)


def test_a_stage_that_takes_too_long_is_named(workers):
    (seconds, waits), (_, slow) = workers(2)(programs.stops, programs.Slow)
    assert 2 < seconds < 60
    assert "from rank 1" in waits
    # Which of the two is first depends on the machine.
    assert (
        "rank 0 failed in the backward pass of micro-batch 0 through stage 0" in slow or "to rank 0" in slow
    )


def test_an_error_in_another_pipeline_is_named(workers):
    text = "rank 3 failed in the forward pass of micro-batch 1 through stage 1: ArithmeticError: no logarithm"
    first, second, third, fourth = workers(4)(programs.another_pipeline_fails)
    assert fourth[1] == "no logarithm"
    assert third[1] == f"pipeline: {text}"
    assert f"another pipeline failed: pipeline: {text}" in first[1]
    assert f"another pipeline failed: pipeline: {text}" in second[1]
    assert max(seconds for seconds, _ in (first, second, third, fourth)) < 30
