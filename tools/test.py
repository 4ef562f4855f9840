"""Every check of the project, in order, with one closing line (`make test`).

`python tools/test.py` runs all steps; names as arguments (`unit lint`) run only those. A failing step does
not stop the next one. Each step's output is shown as it comes; the counts are read from the JUnit file that
pytest writes, or are one per command for the tools that only pass or fail.
"""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PY = sys.executable
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# What the tests need that pip does not bring: Debian's packages, and how each is recognised.
UNIT_PACKAGES: dict[str, Callable[[], bool]] = {
    "bubblewrap": lambda: shutil.which("bwrap") is not None,
    "libseccomp2": lambda: ctypes.util.find_library("seccomp") is not None,
    "postgresql": lambda: any(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
    "redis-server": lambda: shutil.which("redis-server") is not None,
}
BROWSER_PACKAGES: dict[str, Callable[[], bool]] = {
    "chromium": lambda: any(shutil.which(name) for name in CHROMIUM),
    # Without it Chinese pages are photographed as empty boxes.
    "fonts-noto-cjk": lambda: has_chinese_font(),
}
# Processes for the steps whose tests compute: each test may use two threads.
WORKERS = int(os.environ.get("SAMPAN_TEST_PROCESSES") or min(2, os.cpu_count() or 1))
# And for those whose tests wait for pages: with one more a core that one of them leaves idle is used.
WAITING = WORKERS + 1 if WORKERS > 1 else 1
LONGEST = (
    "test_class.py",
    "test_browser_classroom.py",
)  # a class from its start to its end: begun late, the others wait for it
NO_TESTS_COLLECTED = 5  # pytest's exit status


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.broken += other.broken


def check(name: str, *command: str) -> Result:
    """One command that passes or fails as a whole."""
    print(f"$ {name}", flush=True)
    if subprocess.run(command, cwd=ROOT).returncode == 0:
        return Result(passed=1)
    return Result(failed=1, broken=[name])


def read_junit(path: Path) -> Result:
    result = Result()
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
            result.broken.append(name)
        elif (skip := case.find("skipped")) is not None:
            result.skipped[skip.get("message") or "no reason given"] += 1
        else:
            result.passed += 1
    return result


def pytest(name: str, *arguments: str) -> Result:
    report = ROOT / "build" / "tests" / f"{name}.xml"  # kept: it has the time of each test
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [PY, "-m", "pytest", "-q", "--durations=15", f"--junitxml={report}", *arguments]
    status = subprocess.run(command, cwd=ROOT).returncode
    result = read_junit(report) if report.exists() else Result()
    if status == NO_TESTS_COLLECTED:
        result.add(Result(failed=1, broken=[f"{name}: no test was found"]))
    elif status != 0 and not result.failed:  # a crash, or a usage error, before or after the tests
        result.add(Result(failed=1, broken=[f"{name}: pytest ended with status {status}"]))
    return result


def smoke() -> Result:
    return pytest("smoke", "tests/test_smoke.py")


def lint() -> Result:
    result = check("ruff format --check", PY, "-m", "ruff", "format", "--check", ".")
    result.add(check("ruff check", PY, "-m", "ruff", "check", "."))
    return result


def types() -> Result:
    return check("mypy", PY, "-m", "mypy", "--num-workers", str(WORKERS))


def unit() -> Result:
    """What may run beside everything else."""
    reason = install(UNIT_PACKAGES)
    if reason:
        print(reason, flush=True)  # the tests that need it skip by name
    chosen = ("-m", "not servers and not alone and not browser and not course")
    return pytest("unit", *beside(), *chosen, "--ignore=tests/test_smoke.py", "tests")


def servers() -> Result:
    """What starts servers and processes and waits for them: some at a time, but beside nothing that computes."""
    if shutil.which("npm") is not None:  # else the tests of a class skip by name
        subprocess.run([PY, "-m", "studio.hub.proxy"])
    chosen = "servers and not alone and not browser"
    return pytest("servers", *beside(), "-m", chosen, *marked("servers"))


def alone() -> Result:
    """What measures or counts on time, one after the other."""
    return pytest("alone", "-m", "alone and not browser", *marked("alone"))


def notebooks() -> Result:
    """Two at a time, each in one process: a cell has 300 seconds."""
    found = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
    if not found:
        return Result(failed=1, broken=["notebooks: there is none"])
    # --nbval-current-env: the kernel is this environment's, whatever kernelspecs the machine has installed.
    return pytest(
        "notebooks",
        *beside(),
        "-p",
        "nbval.plugin",
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout=300",
        *found,
    )


def course() -> Result:
    return pytest("course", *beside("load"), "-m", "course", "tests/notebooks")


def browser() -> Result:
    """Some files at a time; each process has a Studio and a browser."""
    reason = install(BROWSER_PACKAGES)
    if reason:
        return Result(skipped=Counter({f"all browser tests: {reason}": 1}))
    return pytest("browser", *beside(processes=WAITING), "-m", "browser", *marked("browser"))


def beside(dist: str = "loadfile", processes: int = WORKERS) -> tuple[str, ...]:
    """pytest's options for tests that may run side by side: by default each file in one process, in the order of the
    files."""
    if processes == 1:
        return ()
    return "-n", str(processes), "--dist", dist, "--no-loadscope-reorder", "--max-worker-restart", "1"


def marked(mark: str) -> list[str]:
    """The test files with that mark, the longest first: only these are collected."""
    files = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda path: (path.name not in LONGEST, path))
    return [str(path.relative_to(ROOT)) for path in files if f"mark.{mark}" in path.read_text("utf-8")]


def install(packages: dict[str, Callable[[], bool]]) -> str:
    """Installs those Debian packages that are not there yet; returns why that is impossible, or ""."""
    missing = [name for name, is_there in packages.items() if not is_there()]
    if not missing:
        return ""
    wanted = f"missing {' and '.join(missing)}; install with: sudo apt-get install {' '.join(missing)}"
    if shutil.which("apt-get") is None:
        return wanted
    prefix = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if prefix and (
        not shutil.which("sudo") or subprocess.run([*prefix, "true"], capture_output=True).returncode
    ):
        return wanted
    install = [*prefix, "apt-get", "install", "--yes", "--no-install-recommends", *missing]
    print(f"installing {' and '.join(missing)}", flush=True)
    if subprocess.run(install, stdout=subprocess.DEVNULL).returncode:  # package lists may be stale or absent
        subprocess.run([*prefix, "apt-get", "update"], stdout=subprocess.DEVNULL)
        if subprocess.run(install, stdout=subprocess.DEVNULL).returncode:
            return wanted
    return ""


def has_chinese_font() -> bool:
    if shutil.which("fc-list") is None:
        return False
    return bool(subprocess.run(["fc-list", ":lang=zh"], capture_output=True, text=True).stdout.strip())


STEPS: dict[str, Callable[[], Result]] = {
    "smoke": smoke,
    "lint": lint,
    "types": types,
    "unit": unit,
    "servers": servers,
    "alone": alone,
    "notebooks": notebooks,
    "course": course,
    "browser": browser,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        print(f"unknown step {', '.join(unknown)}; there are: {', '.join(STEPS)}", file=sys.stderr)
        return 2
    # Hundreds of processes import the same files; where this is set, each of them would compile them again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Steps run more threads than there are cores. By default OpenMP's waiting threads keep theirs busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    total, rows = Result(), []
    for name in names or list(STEPS):
        print(f"\n=== {name}", flush=True)
        start = time.monotonic()
        result = STEPS[name]()
        rows.append((name, time.monotonic() - start, result))
        total.add(result)

    print("\n=== summary")
    for name, seconds, result in rows:
        skipped = sum(result.skipped.values())
        print(
            f"{name:10} {seconds:6.1f} s  {result.passed} passed, {result.failed} failed, {skipped} skipped"
        )
    if total.broken:
        print("\nfailed:")
        for line in total.broken:
            print(f"  {line}")
    if total.skipped:
        print("\nskipped:")
        for reason, count in sorted(total.skipped.items()):
            print(f"  {count:4} x {reason}")
    print(f"\n{total.passed} passed, {total.failed} failed, {sum(total.skipped.values())} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
