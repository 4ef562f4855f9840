"""A program for parameter servers, with real servers and trainers, one of which is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sampan
from sampan.distributed.parameter_server import Client, TableSettings, start_shards
from sampan.distributed.utils import find_free_ports

PROGRAM = str(Path(__file__).with_name("fleet_program.py"))
ALONE = "import sys; from sampan.distributed.launch import worker; worker.program(sys.argv[1], sys.argv[2:])"

pytestmark = pytest.mark.servers


def test_servers_and_trainers_compute_what_one_process_does(tmp_path: Path) -> None:
    """Two trainers with half a batch each, synchronously; a server is killed with SIGKILL in the middle."""
    for name in ("many", "one"):
        (tmp_path / name).mkdir()
    addresses = ",".join(f"127.0.0.1:{port}" for port in sorted(find_free_ports(2) or ()))
    options = ["--server_num=2", "--trainer_num=2", "--max_restart=1", f"--servers={addresses}"]
    variables = os.environ | {"OMP_NUM_THREADS": "1"}
    alone = subprocess.Popen(
        [sys.executable, "-c", ALONE, PROGRAM, "8", str(tmp_path / "one")], env=variables, cwd=tmp_path
    )
    command = [sys.executable, "-m", "sampan.distributed.launch", *options, PROGRAM, "8"]
    done = subprocess.run(
        [*command, str(tmp_path / "many")],
        env=variables,
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=240,
    )
    assert alone.wait(120) == 0
    assert (done.returncode, done.stderr) == (
        0,
        "launch: serverlog.0 was ended by SIGKILL; it is started again\n",
    )
    one, *many = [
        json.loads(Path(tmp_path, name).read_text())
        for name in ("one/trainer.0", "many/trainer.0", "many/trainer.1")
    ]
    np.testing.assert_allclose(np.mean([losses for losses, _ in many], 0), one[0], rtol=0, atol=1e-6)
    assert many[0][1] == many[1][1] and one[0][-1] < one[0][0]  # both have the same network
    for mine, other in zip(many[0][1], one[1], strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-5)
    client, every = Client(start_shards(1)), np.arange(300)
    client.table("words", TableSettings(8, 10_000))
    client.load("words", str(tmp_path / "many" / "saved"))
    table = sampan.embedding.DynamicEmbedding(10_000, 8)
    table.load(tmp_path / "one" / "saved" / "words")
    table.eval()
    rows = client.pull("words", every, False)
    np.testing.assert_allclose(rows, table(sampan.to_tensor(every)).numpy(), rtol=0, atol=1e-5)
    assert (rows != 0).any(1).sum() > 150
