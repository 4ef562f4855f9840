"""Processes that stop, leave out a step or compute a NaN, and networks that fail: what the others report, and the state
afterwards."""

import re

import pytest

from tests.distributed import fault_programs as programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("who", [0, 1])
def test_a_process_that_was_stopped_is_named_and_goes_on(workers, who):
    outcomes = workers(2)(programs.stopped, who, 3)
    assert [same for same, _, _ in outcomes] == [True, True]  # losses and weights, bit for bit
    _, texts, _ = outcomes[1 - who]
    waits = (
        r"DataParallel's backward of 4 parameters from '0.weight' to '3.bias' \(call \d+ of _default_pg\) at "
        r"\S+fault_programs.py:\d+ has waited \d+ s; .*"
    )
    if who:
        waits += r"rank 1 is missing: \d+ s ago it was in .* at \S+fault_programs.py:\d+"
    else:  # it keeps the notes
        waits += "rank 0, which keeps the notes of all, does not answer: it is stopped or cannot be reached"
    assert any(re.match(waits, text, re.DOTALL) for text in texts), texts


def test_a_backward_that_one_process_leaves_out(workers):
    for rank, (texts, ended, seconds, steps) in enumerate(workers(2)(programs.leaves_out_a_backward)):
        own = 1 + rank
        assert any(
            f"process {rank} ran {own} forward passes since the last exchange" in text for text in texts
        )
        assert "rank 0: DataParallel's backward of 4 parameters from '0.weight' to '3.bias' (call " in ended
        assert re.search(r"rank 1: barrier \(call \d+ of _default_pg\) at .*fault_programs.py:\d+", ended)
        assert (seconds < 60, steps) == (True, 1)


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_nan_is_named_by_rank_and_parameter_in_all_processes(workers, everywhere):
    outcomes = workers(2)(programs.not_finite, everywhere)
    assert outcomes[0] == outcomes[1]
    text, stayed, went_on = outcomes[0]
    names = ["out.bias (1 of 1 values)"] + [
        "out.weight (4 of 4 values)",
        "table.weight (12 of 12 values)",
    ] * everywhere
    assert text.startswith("DataParallel: gradients are not finite (process 1: ")
    assert "process 0" not in text
    assert sorted(re.findall(r"[\w.]+ \(\d+ of \d+ values\)", text)) == sorted(names)
    assert (stayed, went_on) == (True, True)


def test_groups_that_are_gone_and_groups_of_others(workers):
    gone = "RuntimeError: {}: group _default_pg1{} was destroyed; make it anew with new_group"
    first = "RuntimeError: {}: The global group is not initialized. Call init_parallel_env first."
    for found, (nothing, warned), values in workers(2)(programs.destroyed):
        part = re.search("_default_pg1(\\d+)", found[0])[1]
        assert found[:2] == [gone.format(name, part) for name in ("all_reduce", "barrier")]
        assert found[2:5] == [first.format(name) for name in ("all_reduce", "barrier", "broadcast")]
        assert found[5].startswith(
            "AssertionError: DataParallel: the environment names 2 processes: call init_"
        )
        assert found[6] == gone.format("all_reduce", part)
        assert nothing is None
        assert len(warned) == 1
        assert "is not in group" in warned[0]
        assert values == [4.0, 4.0]


@pytest.mark.parametrize("how", ["slow", "losing", "broken"])
def test_a_network_that_becomes_slow_loses_everything_or_breaks(workers, how):
    for rank, (same, error, seconds, again, relayed) in enumerate(workers(2)(programs.bad_network, how)):
        assert again  # over a new connection
        assert relayed is None or relayed > 0
        assert seconds < 60
        assert same is (how == "slow")
        if how != "slow":
            assert re.search(
                r"DataParallel's backward of 4 parameters from '0.weight' to '3.bias' \(call \d+ of ", error
            )
            assert re.search(
                rf"rank {1 - rank} is (in|missing: \d+ s ago it was in) DataParallel's backward", error
            )


def test_a_state_is_saved_and_read_and_the_inner_layer_compiled(workers, tmp_path):
    for names, *found in workers(2)(programs.saved, str(tmp_path)):
        assert names == ["0.weight", "0.bias", "3.weight", "3.bias"]  # without a prefix
        assert found == [True] * 5


@pytest.mark.parametrize("level", ["os", "os_g"])
def test_a_run_with_a_divided_optimizer_goes_on(workers, level, tmp_path):
    assert workers(2)(programs.sharded_run, level, tmp_path.name) == [(6, True, 12)] * 2


def test_threads_have_groups_of_their_own(workers):
    for found, _, ends in workers(2)(programs.in_threads, True):
        assert (found, ends) == ([[1.0] * 2, [2.0] * 3], [0, 1])


def test_threads_in_one_group_are_refused_and_never_wait_without_end(workers):
    for found, seconds, ends in workers(2)(programs.in_threads, False):
        assert ends == [0, 1]
        assert seconds < 60
        texts = [value for value in found if isinstance(value, str)]
        assert texts
        for text in texts:  # the second thread of a process, or what the other process does without its own
            assert "make a group for each thread with new_group" in text or "CommunicationError: " in text
