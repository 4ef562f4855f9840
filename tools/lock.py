"""Writes requirements.lock and environment.yml from pyproject.toml (`make lock`).

The lock is what pip resolves for the `test` extra (which includes `studio` and `course`) in an empty environment,
on every Python in PYTHONS: no version in it excludes one of them, and what only one of them needs is in it too.
So one list of `name==version` lines serves all. The package index comes from the machine's pip
settings, so the same file works with any mirror. The conda file is derived from pyproject alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
ENVIRONMENT = ROOT / "environment.yml"

# The Pythons that the README promises: the oldest (Debian 12's), and the first release of each newer one.
PYTHONS = ("3.11.2", "3.12.0", "3.13.0")

LOCK_HEADER = (
    "# Exact versions of everything `make studio` and `make test` install. Renew with `make lock`.\n"
)
ENVIRONMENT_HEADER = (
    "# The conda environment, generated from pyproject.toml by `make lock`; edit pyproject.toml instead.\n"
)

# A GPU build of torch names these as dependencies; its own wheel chooses them. They are never locked, so
# that a lock renewed on a machine with such a build still installs everywhere.
GPU_ONLY = re.compile(r"^(nvidia-(?!ml-py$)|cuda-|triton$)")


# Pure Python, published only as source.
SOURCE_ONLY = ("jieba",)


def canonical(name: str) -> str:
    """The package index's spelling of a name: lower case, runs of `-_.` as one `-`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def environment(python: str) -> dict[str, str]:
    """The environment of markers on this machine under Python `python`, such as "3.11.2"."""
    here = {name: str(value) for name, value in default_environment().items()}
    version = {"python_version": ".".join(python.split(".")[:2])}
    return here | version | {"python_full_version": python, "implementation_version": python}


def excludes(requires_python: str | None, python: str) -> bool:
    return python not in SpecifierSet(requires_python or "")


def needed(
    roots: Iterable[str], requires: Mapping[str, Iterable[str]], python: str
) -> dict[str, list[Requirement]]:
    """Every requirement that applies under Python `python`, by name.

    `requires` gives each package's own requirements; a name that is not in it is a leaf.
    """
    found: dict[str, list[Requirement]] = {}
    waiting = [(Requirement(text), frozenset[str]()) for text in roots]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement, extras = waiting.pop()
        # A requirement without an extra of its parent is evaluated with an empty one.
        if requirement.marker and not any(
            requirement.marker.evaluate(environment(python) | {"extra": extra}) for extra in extras or {""}
        ):
            continue
        name = canonical(requirement.name)
        if GPU_ONLY.match(name):
            continue
        found.setdefault(name, []).append(requirement)
        asked = frozenset(requirement.extras)
        if (name, asked) not in seen:
            seen.add((name, asked))
            waiting += [(Requirement(text), asked) for text in requires.get(name, ())]
    return found


def newest(name: str, python: str) -> str:
    """The newest version of a package that pip would take under Python `python`; nothing is downloaded."""
    command = [sys.executable, "-m", "pip", "index", "versions", "--python-version", python, name]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    listed = re.search(r"^Available versions: ([^,\s]+)", printed, re.MULTILINE)
    if listed is None:
        raise SystemExit(f"pip lists no version of {name} for Python {python}")
    return listed[1]


def pip_report(requirements: list[str], limits: Mapping[str, str]) -> list[dict]:
    """Metadata of everything that pip would install for `requirements`, none of it above `limits`."""
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("".join(f"{name}<={limit}\n" for name, limit in limits.items()))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--constraint", str(constraints), "--report", "-", *requirements]
        report = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [entry["metadata"] for entry in json.loads(report)["install"]]


def resolve(extra: str) -> list[tuple[str, str]]:
    """(name, version) of everything that the project with this extra needs on any of PYTHONS.

    pip resolves for the Python that runs it. Its result is checked for each of the others, and resolved again with
    limits on versions that one of them cannot install, and with packages that only some need.
    """
    requirements, limits = [f"{ROOT}[{extra}]"], dict[str, str]()
    while True:
        found = {canonical(one["name"]): one for one in pip_report(requirements, limits)}
        excluded = [
            (name, python)
            for name, one in found.items()
            for python in PYTHONS
            if excludes(one.get("requires_python"), python)
        ]
        for name, python in excluded:
            limits[name] = newest(name, python)
            print(f"{name} {found[name]['version']} excludes Python {python}: not above {limits[name]}")
        requires = {name: one.get("requires_dist", []) for name, one in found.items()}
        more = {
            f"{name}{requirement.specifier}"
            for python in PYTHONS
            for name, several in needed(direct_requirements(extra), requires, python).items()
            for requirement in several
            if name not in found
        } - set(requirements)
        if more:
            print(f"not every Python needs: {', '.join(sorted(more))}")
        if not excluded and not more:
            break
        requirements += sorted(more)
    return sorted(
        (name, one["version"].split("+")[0])  # "+cpu" names a build, not a version
        for name, one in found.items()
        if name != "sampan" and not GPU_ONLY.match(name)
    )


def installs_everywhere(packages: list[tuple[str, str]]) -> None:
    """Stops where one of PYTHONS has no file to install for a locked version; installs nothing.

    torch is looked up in pip's list instead: pip may download a whole wheel, of half a gigabyte, to read its metadata.
    """
    for python in PYTHONS:
        lines = [f"{name}=={version}" for name, version in packages if name != "torch"]
        target = ["--python-version", python, "--no-deps", "--only-binary", ":all:"]
        sources = [option for name in SOURCE_ONLY for option in ("--no-binary", name)]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*command, *target, *sources, "--target", folder, *lines], check=True)
        command = [sys.executable, "-m", "pip", "index", "versions", "--python-version", python]
        listed = subprocess.run([*command, "torch"], check=True, stdout=subprocess.PIPE, text=True).stdout
        if not re.search(rf"\b{re.escape(dict(packages)['torch'])}\b", listed):
            raise SystemExit(f"pip lists no torch {dict(packages)['torch']} for Python {python}")
        print(f"Python {python}: every locked version has a file to install")


def lock_text(packages: list[tuple[str, str]]) -> str:
    return LOCK_HEADER + "".join(f"{name}=={version}\n" for name, version in packages)


def direct_requirements(extra: str) -> list[str]:
    """The direct requirements in pyproject.toml: the core and `extra`, with `sampan[...]` references followed."""
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
    """conda supplies Python and pip, pip supplies the rest: so that one resolver decides."""
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
    """Only the `bench` extra, for PaddlePaddle's own venv, with our lock's NumPy so that both use the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    numpy = next(line for line in LOCK.read_text().splitlines() if line.startswith("numpy=="))
    return "\n".join([*project["optional-dependencies"]["bench"], numpy]) + "\n"


def main() -> None:
    if sys.argv[1:] == ["--print", "bench"]:
        sys.stdout.write(peer_text())
        return
    packages = resolve("test")
    installs_everywhere(packages)
    write(ENVIRONMENT, environment_text())
    write(LOCK, lock_text(packages))


if __name__ == "__main__":
    main()
