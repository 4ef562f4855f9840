"""Programs with parameter servers: the roles of the processes, and how they end."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.servers


def test_roles_of_parameter_servers(tmp_path):
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import os, time
            names = ["TRAINING_ROLE", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_TRAINERS_NUM"]
            names.append("PADDLE_PORT" if os.environ["TRAINING_ROLE"] == "PSERVER" else "PADDLE_TRAINER_ID")
            print(*(os.environ[name] for name in names), flush=True)
            while os.environ["TRAINING_ROLE"] == "PSERVER":
                time.sleep(1)
            while not (os.path.exists("log/serverlog.0") and os.path.getsize("log/serverlog.0")):
                time.sleep(0.1)  # the launcher ends the servers after the trainers
            """
        )
    )
    command = [
        sys.executable,
        "-m",
        "sampan.distributed.launch",
        "--servers=127.0.0.1:7001",
        "--trainer_num=2",
    ]
    done = subprocess.run([*command, "program.py"], cwd=tmp_path, text=True, capture_output=True, timeout=90)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "log" / "serverlog.0").read_text() == "PSERVER 127.0.0.1:7001 2 7001\n"
    assert (tmp_path / "log" / "workerlog.1").read_text() == "TRAINER 127.0.0.1:7001 2 1\n"
    assert os.listdir(tmp_path / "log") and done.stdout == "TRAINER 127.0.0.1:7001 2 0\n"
