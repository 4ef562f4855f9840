"""Processes that the launcher starts: logs, failures, restarts, and that none is left."""

import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.servers

MEET = """
import os, sys, time
import sampan as paddle
import sampan.distributed as dist
dist.init_parallel_env()
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
total = paddle.to_tensor([rank + 1.0])
dist.all_reduce(total)
"""


@pytest.fixture
def start(tmp_path):
    """`start(program, *options)`: the running launcher of a program."""
    started = []

    def launch(program, *options, arguments=()):
        (tmp_path / "program.py").write_text(MEET + textwrap.dedent(program))
        command = [sys.executable, "-m", "sampan.distributed.launch", "--nproc_per_node=2", *options]
        command += ["program.py", *arguments]
        process = subprocess.Popen(
            command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        started.append(process)
        return process

    yield launch
    for process in started:
        process.kill()
        process.communicate()


def log(tmp_path, rank):
    return (tmp_path / "log" / f"workerlog.{rank}").read_text()


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return found


def test_output_goes_to_logs_and_that_of_rank_0_is_shown(start, tmp_path):
    launcher = start("print('total', total.item(), sys.argv[1:])", arguments=["--lr", "1"])
    output, errors = launcher.communicate(timeout=60)
    assert (launcher.returncode, output, errors) == (0, "total 3.0 ['--lr', '1']\n", "")
    assert log(tmp_path, 1) == "total 3.0 ['--lr', '1']\n"


def test_it_prints_what_it_prints_under_paddle(tmp_path):
    """`collectives_program.txt` is the output of PaddlePaddle 3.3.1 on a CPU."""
    program = Path(__file__).with_name("collectives_program.py")
    command = [sys.executable, "-m", "sampan.distributed.launch", "--nproc_per_node=2", str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert log(tmp_path, 0) + log(tmp_path, 1) == program.with_suffix(".txt").read_text()


def test_a_module_and_its_exit_status(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("import sys; print(sys.argv[1:], flush=True); sys.exit(3)")
    command = [sys.executable, "-m", "sampan.distributed.launch", "-m", "package.train", "--lr", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3 and done.stdout == "['--lr', '1']\n"


def test_all_start_again_when_one_is_killed_and_exit_handlers_run(start, tmp_path):
    launcher = start(
        """
        import atexit
        atexit.register(print, "handler", rank)
        if attempt < 2 and rank == attempt:
            os.kill(os.getpid(), 9)
        dist.barrier()
        print("attempt", attempt)
        """,
        "--max_restart=2",
    )
    output, errors = launcher.communicate(timeout=60)
    assert launcher.returncode == 0, errors
    assert output.endswith("attempt 2\nhandler 0\n") and log(tmp_path, 1).endswith("attempt 2\nhandler 1\n")


def test_what_failed_first_is_told_with_the_end_of_its_log(start, tmp_path):
    launcher = start(
        """
        dist.barrier()
        if rank == 1:
            raise ValueError("a wrong value")
        dist.barrier()
        """
    )
    _, errors = launcher.communicate(timeout=60)
    assert launcher.returncode == 1
    assert "launch: rank 1 (process " in errors and ") ended with exit status 1\n" in errors
    assert "launch: the end of log/workerlog.1:\n" in errors and "ValueError: a wrong value" in errors


def test_a_port_of_the_first_machine_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        master = f"127.0.0.1:{taken.getsockname()[1]}"
        (tmp_path / "none.py").touch()
        command = [sys.executable, "-m", "sampan.distributed.launch", "--nnodes=2", "--rank=0"]
        command += [f"--master={master}", "none.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert f"launch: the machines cannot meet at --master {master}: " in done.stderr
    assert "address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_process_is_left_when_the_launcher_is_killed(start, tmp_path):
    launcher = start("print(os.getpid(), flush=True); time.sleep(600)")
    pids = wait_for(lambda: [int(t) for r in (0, 1) if (t := _read(tmp_path, r))][:2])
    wait_for(lambda: len([r for r in (0, 1) if _read(tmp_path, r)]) == 2)
    pids = [int(_read(tmp_path, rank)) for rank in (0, 1)]
    launcher.kill()
    launcher.wait()
    wait_for(lambda: not any(map(_runs, pids)))


def test_told_to_end_it_ends_all(start, tmp_path):
    launcher = start("print(os.getpid(), flush=True); time.sleep(600)")
    wait_for(lambda: len([r for r in (0, 1) if _read(tmp_path, r)]) == 2)
    pids = [int(_read(tmp_path, rank)) for rank in (0, 1)]
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(timeout=120) == 128 + signal.SIGTERM
    wait_for(lambda: not any(map(_runs, pids)))


def _read(tmp_path, rank):
    try:
        return log(tmp_path, rank).strip()
    except FileNotFoundError:
        return ""


def _runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
