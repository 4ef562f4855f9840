"""What a started process does before its program."""

import subprocess
import sys

import pytest

from sampan.distributed.launch import worker

OF_TORCH = {
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2",
    "MASTER_ADDR": "10.0.0.1",
    "MASTER_PORT": "6000",
}


def test_paddles_variables_beside_those_of_torchrun():
    found = dict(OF_TORCH)
    worker.for_paddle(found, ["4", "7"])
    assert found.items() >= OF_TORCH.items()
    assert [found[f"PADDLE_{name}"] for name in ("TRAINER_ID", "TRAINERS_NUM", "LOCAL_RANK", "NNODES")] == [
        *"3412"
    ]
    endpoints = found["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert len(endpoints) == 4 and endpoints[3] == found["PADDLE_CURRENT_ENDPOINT"]
    assert endpoints[0] == found["PADDLE_MASTER"] == "10.0.0.1:6000" and found["FLAGS_selected_gpus"] == "7"


@pytest.mark.servers
def test_output_is_added_to_a_log_line_by_line(tmp_path):
    program = (
        "import pathlib, sys; from sampan.distributed.launch.worker import log_to\n"
        "for name in sys.argv[1:]:\n    print('before', flush=True); log_to(name)\n"
        "    print('out'); print('err', file=sys.stderr)\n"
        "    assert pathlib.Path(name).read_text().endswith('out\\nerr\\n')"
    )
    logs = [str(tmp_path / "deep" / "a.log"), str(tmp_path / "b.log")]
    (tmp_path / "b.log").write_text("old\n")
    done = subprocess.run([sys.executable, "-c", program, *logs], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("before\n", "")
    assert (tmp_path / "deep" / "a.log").read_text() == "out\nerr\nbefore\n"
    assert (tmp_path / "b.log").read_text() == "old\nout\nerr\n"
