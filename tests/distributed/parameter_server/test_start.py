"""Kinds of shards, and what a kind needs."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from sampan.distributed.parameter_server import start_shards


def test_kinds_and_counts_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match="kind: expected one of in process, processes, actors, got 'rpc'"):
        start_shards(1, "rpc")
    with pytest.raises(ValueError, match="shards: expected 1 or more, got 0"):
        start_shards(0)


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_the_error_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r"the extra cluster has: pip install 'sampan\[cluster\]'"):
        start_shards(1, "actors")


@pytest.mark.servers
def test_a_script_without_a_guard_is_told_what_it_needs(tmp_path):
    """Each process imports the script, which starts processes again. That must end, and say why."""
    script = tmp_path / "script.py"
    script.write_text(
        "from sampan.distributed.parameter_server import Client, TableSettings, start_shards\n"
        f"client = Client(start_shards(1, 'processes', {str(tmp_path / 'shards')!r}))\n"
        "client.table('t', TableSettings(4, capacity=1000))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.rstrip().splitlines()[-1].endswith('below `if __name__ == "__main__":`; open it again')
