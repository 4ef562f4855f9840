"""`make test` counts honestly: a failure, a crash and a step without tests never look like a pass."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tools.size import ROOT

# Not `import tools.test`: a module of that name is easily taken for a test file.
_spec = importlib.util.spec_from_file_location("runner", ROOT / "tools" / "test.py")
runner = importlib.util.module_from_spec(_spec)
sys.modules["runner"] = runner  # dataclasses look their module up
_spec.loader.exec_module(runner)

CASES = """
import pytest, warnings
def test_pass(): pass
def test_fail(): assert 1 == 2
@pytest.mark.skip(reason="needs the moon")
def test_skip(): pass
@pytest.mark.parametrize("n", [1, 2])
def test_skip_inside(n): pytest.skip("needs the sun")
def test_warning(): warnings.warn("old", DeprecationWarning)
@pytest.fixture
def broken(): raise OSError("no")
def test_error(broken): pass
"""


def run(tmp_path, source, *arguments):
    path = tmp_path / "test_case.py"
    path.write_text(source)
    places = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path))
    return runner.pytest("step", *arguments, *places, str(path))


def test_counts_and_reasons(tmp_path, capfd):
    result = run(tmp_path, CASES)
    assert result.passed == 1
    assert result.failed == 3  # the assertion, the warning, the fixture
    assert [name.split("::")[-1] for name in result.broken] == ["test_fail", "test_warning", "test_error"]
    assert result.skipped == {"needs the moon": 1, "needs the sun": 2}
    assert "needs the moon" in capfd.readouterr().out  # streamed, with its reason


COMPILED = """
import warnings
import pytest
@pytest.mark.parametrize("path", ["/venv/lib/site-packages/other/part.py", "/home/me/mine.py"])
def test_compile(path): exec(compile(r"text = '\\.'", path, "exec"))
def test_use():
    warnings.warn_explicit("old", DeprecationWarning, "/venv/lib/site-packages/other.py", 1, module="other")
"""


def test_what_the_compiler_says_of_third_party_files_is_no_failure(tmp_path):
    """Their bytecode may not be cached yet. Of our own files, and of running third-party code, a warning is an error."""
    result = run(tmp_path, COMPILED)
    assert result.passed == 1
    names = [name.split("::")[-1] for name in result.broken]
    assert names == ["test_compile[/home/me/mine.py]", "test_use"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "no test was found"),
        ("import os; os._exit(7)", "status 7"),
        ("import nothing_of_this_name", "test_case"),
    ],
    ids=["empty", "crash", "import error"],
)
def test_what_cannot_run_has_failed(tmp_path, capfd, source, why):
    result = run(tmp_path, source)
    assert (result.passed, result.failed) == (0, 1)
    assert why in result.broken[0]


def test_a_crash_of_one_of_several_processes_is_a_failure(tmp_path, capfd):
    """Another process takes its place and tries the file again, some times."""
    source = "import os\ndef test_before(): pass\ndef test_crash(): os._exit(7)\n"
    result = run(tmp_path, source, "-n", "2", "--dist", "loadfile", "--max-worker-restart", "1")
    assert result.passed == 1 and result.failed >= 1
    assert all("test_crash" in name for name in result.broken)


def test_what_two_processes_collect_differently_is_a_failure(tmp_path, capfd):
    source = "import os, pytest\n@pytest.mark.parametrize('n', [os.getpid()])\ndef test_case(n): pass\n"
    result = run(tmp_path, source, "-n", "2", "--dist", "loadfile")
    assert result.failed >= 1 and result.passed == 0
    assert "Different tests were collected" in capfd.readouterr().out


def test_a_tool_counts_as_one(capfd):
    assert runner.check("fine", sys.executable, "-c", "print('heard')").passed == 1
    assert "heard" in capfd.readouterr().out
    failed = runner.check("not fine", sys.executable, "-c", "raise SystemExit(1)")
    assert (failed.failed, failed.broken) == (1, ["not fine"])


def test_the_closing_line(monkeypatch, capsys):
    from collections import Counter

    steps = {
        "a": lambda: runner.Result(passed=3, skipped=Counter({"no GPU": 2})),
        "b": lambda: runner.Result(passed=1, failed=1, broken=["b::x"], skipped=Counter({"no GPU": 1})),
        "c": lambda: runner.Result(passed=5),
    }
    monkeypatch.setattr(runner, "STEPS", steps)
    assert runner.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "9 passed, 1 failed, 3 skipped"
    assert "     3 x no GPU" in lines and "  b::x" in lines
    assert runner.main(["c"]) == 0  # and steps can be chosen
    assert capsys.readouterr().out.splitlines()[-1] == "5 passed, 0 failed, 0 skipped"
    assert runner.main(["d"]) == 2


def machine(tmp_path, monkeypatch, root, **programs):
    """A PATH with nothing but these shell scripts; they note how they were called in `calls`."""
    for name, script in programs.items():
        path = tmp_path / name.replace("_", "-")
        path.write_text(f'#!/bin/sh\necho "${{0##*/}} $*" >> {tmp_path}/calls\n{script}\n')
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
    return tmp_path / "calls"


INSTALL = "apt-get install --yes --no-install-recommends chromium fonts-noto-cjk"


@pytest.mark.parametrize(
    "programs", [{}, {"apt_get": ""}, {"apt_get": "", "sudo": "exit 1"}, {"apt_get": "exit 100"}]
)
def test_without_a_browser_the_step_says_how_to_get_one(tmp_path, monkeypatch, programs):
    """No apt; no right to use it; a sudo that asks for a password; a package source that does not answer."""
    machine(tmp_path, monkeypatch, root=programs == {"apt_get": "exit 100"}, **programs)
    result = runner.browser()
    ((reason, count),) = result.skipped.items()
    assert count == 1 and "missing chromium and fonts-noto-cjk" in reason
    assert "sudo apt-get install chromium fonts-noto-cjk" in reason


@pytest.mark.parametrize("root", [True, False])
def test_a_missing_browser_is_installed_after_an_update_where_one_is_needed(tmp_path, monkeypatch, root):
    fresh = f'[ "$1" = update ] && : > {tmp_path}/updated; [ "$1" = update ] || [ -e {tmp_path}/updated ]'
    sudo = {} if root else {"sudo": 'shift; [ "$1" = true ] || exec "$@"'}
    calls = machine(tmp_path, monkeypatch, root=root, apt_get=fresh, **sudo)
    assert runner.install(runner.BROWSER_PACKAGES) == ""
    used = [line for line in calls.read_text().splitlines() if line.startswith("apt-get")]
    assert used == [INSTALL, "apt-get update", INSTALL]


def test_nothing_is_installed_where_all_is_there(tmp_path, monkeypatch):
    calls = machine(tmp_path, monkeypatch, root=True, chromium="", fc_list="echo NotoSansCJK", apt_get="")
    assert runner.install(runner.BROWSER_PACKAGES) == ""
    assert "apt-get" not in calls.read_text()


def test_ci_calls_make_test_and_nothing_else_of_its_own(tmp_path):
    """.ci/run in a copy of the layout: it takes data from ../shared/data only when that is there and unset."""
    project = tmp_path / "project"
    (project / ".ci").mkdir(parents=True)
    (project / ".ci" / "run").write_bytes((ROOT / ".ci" / "run").read_bytes())
    (project / "Makefile").write_text("test:\n\t@echo data=$$SAMPAN_DATA\n")
    outer = (
        "SAMPAN_DATA",
        "MAKEFLAGS",
        "MAKELEVEL",
        "MFLAGS",
    )  # of the `make test` that this test may run in
    environment = {name: value for name, value in os.environ.items() if name not in outer}

    def ci(**extra):
        done = subprocess.run(
            ["bash", ".ci/run"],
            cwd=project,
            env=environment | extra,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert ci() == "data="
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert ci() == f"data={tmp_path / 'shared' / 'data'}"
    assert ci(SAMPAN_DATA="/mine") == "data=/mine"


def test_a_venv_that_could_not_be_made_is_not_left_behind(tmp_path):
    """Debian's Python without its package python3-venv makes a folder without pip, which a second `make` would take."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nmkdir -p .venv/bin; touch .venv/bin/python; echo no ensurepip; exit 1\n")
    python.chmod(0o755)
    command = ["make", f"PYTHON={python}", ".venv/bin/python"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "no ensurepip" in done.stdout
    assert not (tmp_path / ".venv").exists()
