"""One place for dependencies: the lock and the conda file say what pyproject.toml says."""

import ast
import re
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools import lock

PROJECT = tomllib.loads((lock.ROOT / "pyproject.toml").read_text())["project"]


def locked() -> dict[str, str]:
    lines = [line for line in lock.LOCK.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def test_the_conda_file_is_what_pyproject_generates():
    assert lock.ENVIRONMENT.read_text() == lock.environment_text(), (
        "environment.yml is stale: run `make lock`"
    )


def test_every_requirement_is_locked_at_a_version_it_allows():
    versions = locked()
    for text in lock.direct_requirements("test"):
        requirement = Requirement(text)
        name = lock.canonical(requirement.name)
        assert name in versions, f"{name} is in pyproject.toml, not in requirements.lock: run `make lock`"
        assert versions[name] in requirement.specifier, f"{name}=={versions[name]} is outside {requirement}"


@pytest.mark.parametrize("python", lock.PYTHONS)
def test_the_lock_serves_every_python_that_the_readme_promises(python):
    """From what the installed packages say about themselves: none excludes this Python, none needs what is not locked.

    pip itself is asked by `make lock`, with the network.
    """
    # The first of a name is what is imported: setuptools, once imported, adds packages of its own to the end of the path.
    first = reversed(list(distributions()))
    versions, metadata = locked(), {lock.canonical(one.name): one for one in first}
    stale = {n: v for n, v in versions.items() if n not in metadata or metadata[n].version.split("+")[0] != v}
    assert not stale, (
        "this environment has other versions than requirements.lock: run `make size`, which installs them"
    )
    excluding = {
        n: text for n in versions if lock.excludes(text := metadata[n].metadata["Requires-Python"], python)
    }
    assert not excluding, f"cannot be installed on Python {python}: run `make lock`"
    requires = {name: metadata[name].requires or [] for name in versions}
    for name, several in lock.needed(lock.direct_requirements("test"), requires, python).items():
        assert name in versions, f"Python {python} needs {several[0]}: run `make lock`"
        for requirement in several:
            assert versions[name] in requirement.specifier, (
                f"{name}=={versions[name]} is outside {requirement}"
            )


def test_a_package_of_one_python_alone_is_found():
    """The rule by itself: markers, extras of a package, what excludes a Python, and what a GPU build adds."""
    requires = {
        "a": ["b[fast]>=1", "old; python_full_version < '3.11.3'", "nvidia-cublas; platform_system != ''"],
        "b": ["c; extra == 'fast'", "d; extra == 'slow'", "new; python_version >= '3.13'", "a"],
    }
    found = {python: set(lock.needed(["a"], requires, python)) for python in lock.PYTHONS}
    assert found == {
        "3.11.2": {"a", "b", "c", "old"},
        "3.12.0": {"a", "b", "c"},
        "3.13.0": {"a", "b", "c", "new"},
    }
    assert lock.excludes(">=3.11.5", "3.11.2") and not lock.excludes(">=3.11.5", "3.12.0")
    assert not lock.excludes(None, "3.11.2")


def test_the_promised_pythons_are_named_alike_everywhere():
    assert PROJECT["requires-python"] == f">={lock.PYTHONS[0]}"
    minor = [python.rpartition(".")[0] for python in lock.PYTHONS]
    prefix = "Programming Language :: Python :: 3."
    named = [text.removeprefix(prefix) for text in PROJECT["classifiers"] if text.startswith(prefix)]
    assert [f"3.{name}" for name in named] == minor
    makefile = (lock.ROOT / "Makefile").read_text()
    assert f"sys.version_info < ({lock.PYTHONS[0].replace('.', ', ')})" in makefile
    assert " ".join(f"python{version}" for version in minor) in makefile
    assert f"Python {lock.PYTHONS[0]} or newer" in makefile
    assert (
        f"Python {minor[0]} ({lock.PYTHONS[0]} or newer), {minor[1]} or {minor[2]}"
        in (lock.ROOT / "README.md").read_text()
    )


def test_the_lock_is_plain():
    """Name and version only: no host, path, hash, option or build suffix, and nothing twice."""
    lines = [line for line in lock.LOCK.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 50
    for line in lines:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.]*", line), line
    assert len(locked()) == len(lines)
    assert lines == sorted(lines, key=lambda line: line.split("==")[0])


def test_no_gpu_package_is_locked():
    assert not [name for name in locked() if lock.GPU_ONLY.match(name)]


def test_the_core_stays_small():
    names = {Requirement(text).name for text in PROJECT["dependencies"]}
    assert names == {"torch", "numba", "llvmlite", "numpy", "safetensors"}  # llvmlite is a part of numba


def test_nested_extras_are_followed():
    every = set(lock.direct_requirements("test"))
    assert set(PROJECT["dependencies"]) <= every
    assert {"scikit-learn>=1.5", "voila>=0.5.8", "nbclient>=0.10", "pytest>=8.3"} <= every
    assert not [text for text in every if text.startswith("sampan")]
    with pytest.raises(KeyError, match="nowhere"):
        lock.direct_requirements("nowhere")


def test_the_peer_has_a_venv_of_its_own():
    """PaddlePaddle's own requirements never enter the lock; its NumPy is ours, so that both sum alike."""
    assert "paddlepaddle" not in locked()
    assert lock.peer_text().splitlines() == ["paddlepaddle==3.3.1", f"numpy=={locked()['numpy']}"]


OWN = {"sampan", "studio", "tools", "benchmarks", "tests"}
DISTRIBUTIONS = packages_distributions()
# In environments of their own: PaddlePaddle (in ours, what compat.install() gives), and oracles whose answers are recorded.
LIVES_APART = {"paddle", "kaldi_native_fbank", "librosa", "pyctcdecode", "transformers"}


def imports(path: Path) -> set[str]:
    """Top-level names of everything from outside that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found - OWN - LIVES_APART - set(sys.stdlib_module_names)


# Which extras each part of the tree may lean on. The core alone carries the lower floors.
PARTS: dict[str, list[str]] = {
    "lib/sampan/kernels": [],
    "lib/sampan/ops": [],
    "lib/sampan/nn": [],
    "lib/sampan": ["data", "course", "vision", "graph", "speech"],
    "webapp": ["studio", "hub"],
    "docs": ["docs"],
    "tools": ["test"],
    "benchmarks": ["test"],
    "tests": ["test"],
}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_imported_is_declared(part):
    """Nothing is used that only happens to come along with something else."""
    texts = set(PROJECT["dependencies"]).union(*(lock.direct_requirements(extra) for extra in PARTS[part]))
    declared = {lock.canonical(Requirement(text).name) for text in texts}
    files = list((lock.ROOT / part).rglob("*.py"))
    assert files, f"{part} is empty"
    missing = set()
    for path in files:
        # Files that stand beside this one are found by name when a script or pytest runs them from there.
        for name in imports(path) - {other.stem for other in path.parent.glob("*.py")}:
            owners = {lock.canonical(owner) for owner in DISTRIBUTIONS.get(name, [])}
            if not owners & declared:
                missing.add(f"{path.relative_to(lock.ROOT)} imports {name}")
    assert not missing, "add to pyproject.toml:\n" + "\n".join(sorted(missing))
