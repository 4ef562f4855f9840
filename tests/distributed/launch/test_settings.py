"""The launcher's command line."""

import pytest

from sampan.distributed.launch.settings import PORT, read


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PADDLE_NNODES", raising=False)
    (tmp_path / "p.py").touch()


@pytest.mark.usefixtures("program")
def test_what_paddles_commands_say():
    plain = read(["p.py", "--lr", "0.1", "--nnodes", "7"])
    assert (plain.script, plain.arguments) == ("p.py", ["--lr", "0.1", "--nnodes", "7"])
    assert (plain.processes, plain.least, plain.most, plain.restarts, plain.logs) == (1, 1, 1, 0, "log")
    assert read(["--gpus", "0,2", "p.py"]).processes == 2
    assert read(["--devices=0, 2", "--nproc_per_node=1", "p.py"]).devices == ["0", "2"]
    many = read(["--master", "10.0.0.1:6000", "--nnodes=2", "--rank", "1", "--nproc_per_node", "4", "p.py"])
    assert (many.least, many.most, many.node, many.master, many.elastic) == (2, 2, 1, "10.0.0.1:6000", False)
    some = read(["--master=10.0.0.1:6000", "--nnodes=1:4", "p.py"])
    assert (some.least, some.most, some.elastic, some.restarts) == (1, 4, True, 3)
    again = read(["--master=10.0.0.1:6000", "--nnodes=4:4", "--rank=2", "p.py"])
    assert (again.least, again.most, again.elastic, again.node) == (4, 4, True, 2)
    assert read(["--max_restart", "5", "--log_overwrite", "True", "p.py"]).restarts == 5
    servers = read(["--run_mode=ps", "--servers=127.0.0.1:1,127.0.0.1:2", "--trainers=127.0.0.1:3", "p.py"])
    assert (servers.servers, servers.trainers) == (2, 1)
    assert servers.server_addresses == ["127.0.0.1:1", "127.0.0.1:2"]
    assert read(["--server_num=2", "--trainer_num=3", "p.py"]).server_addresses == []


@pytest.mark.usefixtures("program")
def test_this_machine_among_the_addresses():
    own = "127.0.0.1"
    found = read([f"--ips=203.0.113.1,{own}", "p.py"])
    assert (found.most, found.node, found.master) == (2, 1, f"203.0.113.1:{PORT}")
    assert read([f"--ips={own}", "p.py"]).most == 1


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["--nproc_per_node", "0", "p.py"], "expected a whole number of at least 1, got '0'"),
        (
            ["--nnodes", "2:1", "p.py"],
            "--nnodes: expected a number such as 2, or a range such as 1:4, got '2:1'",
        ),
        (["--nnodes", "2", "p.py"], "--master: expected host:port, the same on all 2 machines, got ''"),
        (["--nnodes=2", "--master=a:99999", "p.py"], "got 'a:99999'"),
        (
            ["--nnodes=2", "--master=a:1", "--rank=2", "p.py"],
            "--rank: expected a number below the 2 machines, got 2",
        ),
        (
            ["--devices=0", "--nproc_per_node=2", "p.py"],
            "--devices: expected 2, one for each process, got '0'",
        ),
        (["--server_num=1", "p.py"], "expected at least 1 of each for parameter servers"),
        (["--ips=203.0.113.1,203.0.113.2", "p.py"], "--ips: expected this machine once"),
        (["missing.py"], "script: there is no 'missing.py' in"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_starts(command, text, capsys):
    with pytest.raises(SystemExit) as ended:
        read(command)
    assert ended.value.code == 2 and text in capsys.readouterr().err
