"""Writes requirements.lock and environment.yml from pyproject.toml (`make lock`).

The lock is what pip itself resolves for the `test` extra (which includes `studio` and `course`) on an empty
environment. It is plain `name==version` lines: where packages come from is the business of the machine's pip
settings, so the same file serves any mirror. The conda file is derived from pyproject alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
ENVIRONMENT = ROOT / "environment.yml"

LOCK_HEADER = (
    "# Exact versions of everything `make studio` and `make test` install. Renew with `make lock`.\n"
)
ENVIRONMENT_HEADER = (
    "# The conda way in, generated from pyproject.toml by `make lock`; edit pyproject.toml instead.\n"
)

# A GPU build of torch names these as dependencies; its own wheel chooses them. They are never locked, so
# that a lock renewed on a machine with such a build still installs everywhere.
GPU_ONLY = re.compile(r"^(nvidia-(?!ml-py$)|cuda-|triton$)")


def canonical(name: str) -> str:
    """The package index's spelling of a name: lower case, runs of `-_.` as one `-`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolve(extra: str) -> list[tuple[str, str]]:
    """(name, version) of everything that the project with this extra needs, as pip resolves it today."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    report = subprocess.run(
        [*command, "--report", "-", f"{ROOT}[{extra}]"], check=True, capture_output=True, text=True
    ).stdout
    found = []
    for entry in json.loads(report)["install"]:
        name, version = canonical(entry["metadata"]["name"]), entry["metadata"]["version"]
        if name != "sampan" and not GPU_ONLY.match(name):
            found.append((name, version.split("+")[0]))  # "+cpu" names a build, not a version
    return sorted(found)


def lock_text(packages: list[tuple[str, str]]) -> str:
    return LOCK_HEADER + "".join(f"{name}=={version}\n" for name, version in packages)


def direct_requirements(extra: str) -> list[str]:
    """What pyproject.toml itself asks for: the core and `extra`, with `sampan[...]` references followed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set(project["dependencies"])
    waiting, seen = [extra], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for requirement in project["optional-dependencies"][name]:
            nested = re.fullmatch(r"sampan\[(.*)\]", requirement)
            if nested:
                waiting += [part.strip() for part in nested[1].split(",")]
            else:
                found.add(requirement)
    return sorted(found)


def environment_text() -> str:
    """conda supplies Python and pip, pip supplies the rest: one resolver decides, as in the other way in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = ["name: sampan", "channels:", "  - conda-forge", "dependencies:"]
    lines += [f"  - python{project['requires-python']}", "  - pip", "  - pip:"]
    lines += [f'      - "{requirement}"' for requirement in direct_requirements("test")]
    lines += ['      - "-e ."']
    return ENVIRONMENT_HEADER + "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text)
    os.replace(temporary, path)
    print(f"wrote {path.name}: {len(text.splitlines()) - 1} lines")


def peer_text() -> str:
    """The `bench` extra alone, for the peer's own venv, with our lock's NumPy so that both use the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    numpy = next(line for line in LOCK.read_text().splitlines() if line.startswith("numpy=="))
    return "\n".join([*project["optional-dependencies"]["bench"], numpy]) + "\n"


def main() -> None:
    if sys.argv[1:] == ["--print", "bench"]:
        sys.stdout.write(peer_text())
        return
    write(ENVIRONMENT, environment_text())
    write(LOCK, lock_text(resolve("test")))


if __name__ == "__main__":
    main()
