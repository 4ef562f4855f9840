"""Reports of processes: what they do, whom they wait for, and what the system says of those that were stopped or
killed."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import throttle, traffic
from sampan.distributed.elastic import Reporter, Run, Samples
from sampan.distributed.elastic.kept import Copies, memory_folder
from sampan.distributed.elastic.report import read, steps, write_rate

PROGRAM = textwrap.dedent(
    """
    import sys, time
    from sampan.distributed import traffic
    from sampan.distributed.elastic import Reporter

    reporter = Reporter(sys.argv[1], 0, 2)
    for number in range(int(sys.argv[2]), 10**6):
        traffic.count("all_reduce", 100, 50)
        reporter.step(number, 1 / (number + 1))
        time.sleep(0.01)
    """
)


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "not within the time"
        time.sleep(0.02)
    return found


def only(folder):
    reports = read(folder)
    return reports[0] if reports else None


@pytest.mark.servers
def test_a_process_that_is_stopped_and_killed_and_the_one_after_it(tmp_path):
    def begun(first):
        return subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path), str(first)])

    process = begun(0)
    try:
        seen = until(lambda: (one := only(tmp_path)) and one.step >= 5 and one)
        assert (seen.state, seen.pid, seen.world, seen.waits) == ("running", process.pid, 2, None)
        assert seen.loss == 1 / (seen.step + 1)
        assert seen.step_bytes == {"all_reduce": [1, 100, 50]}
        assert seen.total_bytes["all_reduce"][0] == seen.exchanges >= seen.step + 1
        process.send_signal(signal.SIGSTOP)
        assert until(lambda: only(tmp_path).state == "stopped")
        process.send_signal(signal.SIGCONT)
        assert until(lambda: only(tmp_path).state == "running")
    finally:
        process.kill()
        process.wait()
    assert only(tmp_path).state == "killed"
    done = steps(tmp_path, 0)
    assert done["step"].tolist() == list(range(len(done)))  # each step, also the last one before SIGKILL
    process = begun(3)
    try:
        until(lambda: only(tmp_path).state == "running")
    finally:
        process.kill()
        process.wait()
    later = steps(tmp_path, 0)
    assert later[: len(done)].tobytes() == done.tobytes()
    assert later["step"][len(done)] == 3
    assert later["started"][len(done)] > done["started"][0]


def waits_in_all_reduce(folder):
    """Rank 1, which is waited for, has sent more than the other before."""
    if dist.get_rank() == 1:
        for _ in range(1000):
            traffic.count("send", 1, 1)
    reporter = Reporter(folder)
    value = paddle.ones([10])
    while dist.get_rank() == 1 and not Path(folder, "seen").exists():
        time.sleep(0.01)
    begin = time.time()
    dist.all_reduce(value)
    reporter.close()
    return begin


@pytest.mark.servers
def test_a_report_names_the_process_that_is_waited_for_and_the_line(workers, tmp_path):
    with ThreadPoolExecutor(1) as beside:
        answers = beside.submit(workers(2), waits_in_all_reduce, str(tmp_path))
        reports = until(
            lambda: len(both := read(tmp_path)) == 2 and both[0].waits and both[0].waits.ranks and both
        )
        (tmp_path / "seen").touch()
        begins = answers.result()
    waits = reports[0].waits
    assert (waits.collective, waits.ranks, reports[1].waits) == ("all_reduce", (1,), None)
    assert waits.file == __file__
    assert Path(waits.file).read_text().splitlines()[waits.line - 1].strip() == "dist.all_reduce(value)"
    assert abs(waits.since - begins[0]) < 1
    assert [one.state for one in read(tmp_path)] == ["ended", "ended"]


def test_run_reports_each_step_and_the_loss_of_its_samples(tmp_path):
    model = paddle.nn.Linear(1, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    reporter, job = Reporter(tmp_path, 0, 1), f"test-report-{os.getpid()}"
    losses = []
    try:
        for step in Run(model, optimizer, Samples(6, 2), every=3, job=job, reporter=reporter).steps(7):
            loss = (model(paddle.to_tensor(step.samples[:, None]).astype("float32")) ** 2).mean()
            step.share(loss).backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
    finally:
        Copies(memory_folder(job)).remove()
    reporter.close()
    done = steps(tmp_path, 0)
    assert done["step"].tolist() == list(range(7))
    assert done["loss"].tolist() == losses
    assert (done["time"][1:] >= done["time"][:-1]).all()
    assert only(tmp_path).step == 6


def test_the_limit_of_a_rank_is_followed(tmp_path):
    reporter = Reporter(tmp_path, 0, 1)
    try:
        assert math.isnan(only(tmp_path).loss)
        assert only(tmp_path).state == "joining"
        write_rate(tmp_path, 0, 5000)
        until(lambda: throttle.rate() == 5000.0 == only(tmp_path).rate)
        write_rate(tmp_path, 0, None)
        until(lambda: throttle.rate() is None)
    finally:
        throttle.limit(None)
        reporter.close()


def test_a_file_that_is_none_of_ours_is_passed_over(tmp_path):
    (tmp_path / "report-0.json").write_text("{")
    (tmp_path / "report-1.json").write_text("[]")
    assert read(tmp_path) == []
    assert steps(tmp_path, 0).size == 0
