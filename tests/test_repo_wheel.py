"""The wheel holds all that `sampan studio` needs, and works from a folder that is not the repository."""

import json
import os
import subprocess
import sys
import time
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
import requests
from packaging.requirements import Requirement

from studio.attempts import Attempts
from tests.webapp.running import start_studio
from tools.size import ROOT

pytestmark = pytest.mark.servers

# A folder of the repository: its place in the wheel.
PLACES = {
    "lib/sampan": "sampan",
    "webapp/studio": "studio",
    "webapp/templates": "studio/templates",
    "webapp/pages": "studio/pages",
    "notebooks": "studio/notebooks",
    "datasets": "sampan/datasets/bundled",
}
NOT_SOURCE = {"__pycache__", ".ipynb_checkpoints"}


def files(folder: Path) -> set[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not NOT_SOURCE.intersection(path.parts)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built by the backend itself, with its version from the lock and without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_it_holds_the_library_the_studio_and_the_course_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"{to}/{name}" for source, to in PLACES.items() for name in files(ROOT / source)}
    assert held == expected
    assert {"studio/notebooks/00_orientation.ipynb", "studio/notebooks/checks/00_orientation.py"} <= held


def test_its_metadata_names_what_it_needs_and_no_place(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        text = archive.read(name).decode()
        commands = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    told = HeaderParser().parsestr(text)
    assert told["Requires-Python"] == ">=3.11.2"
    core = {r.name: r for r in map(Requirement, told.get_all("Requires-Dist")) if r.marker is None}
    assert set(core) == {"torch", "numba", "llvmlite", "numpy", "safetensors"}
    assert {v: v in core["torch"].specifier for v in ("2.12.1", "2.13.0", "2.14.1", "2.15.0")} == {
        "2.12.1": False,
        "2.13.0": True,
        "2.14.1": True,
        "2.15.0": False,
    }
    assert "sampan = studio.cli:main" in commands
    assert str(ROOT) not in text + commands and "file:" not in text


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with the wheel installed into it, for PYTHONPATH, where it comes before this environment's own."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--no-index", "--target", str(folder), str(wheel)], check=True)
    return folder


EVERY_MODULE = """
import importlib, json, pkgutil, sys
names = []
for package in ("sampan", "studio"):
    root = importlib.import_module(package)
    assert root.__file__.startswith(sys.argv[1]), root.__file__
    names += [one.name for one in pkgutil.walk_packages(root.__path__, package + ".")]
for name in names:
    if not name.endswith(".__main__"):
        importlib.import_module(name)
from sampan import datasets
from studio import paths
print(json.dumps([len(names), sorted(datasets.available()), [str(paths.NOTEBOOKS), str(paths.PAGES)]]))
"""


def test_every_module_is_imported_outside_of_the_repository(installed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EVERY_MODULE, str(installed)],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    count, data, places = json.loads(done.stdout)
    assert count > 300 and "digits" in data
    assert places == [str(installed / "studio" / "notebooks"), str(installed / "studio" / "pages")]


def test_the_studio_opens_a_lesson_and_checks_an_answer_outside_of_the_repository(installed, tmp_path):
    studio = start_studio(tmp_path / "home", PYTHONPATH=str(installed), SAMPAN_WARM_KERNELS="0")
    try:
        address, lesson = f"{studio.url}studio/courses/", "00_orientation"
        page = requests.get(address, headers=studio.headers, timeout=60)
        assert page.status_code == 200 and page.text.count("/check") >= 7
        opened = requests.post(
            f"{address}{lesson}/open", headers=studio.headers, allow_redirects=False, timeout=60
        )
        assert opened.status_code == 303
        copy = studio.home / "notebooks" / f"{lesson}.ipynb"
        assert "BEGIN SOLUTION" not in copy.read_text()
        copy.write_text((installed / "studio" / "notebooks" / copy.name).read_text())  # with the solutions
        requests.post(f"{address}{lesson}/check", headers=studio.headers, timeout=60).raise_for_status()
        attempts, deadline = Attempts(studio.home / ".studio" / "attempts"), time.monotonic() + 200
        while (last := attempts.history(lesson).last) is None and time.monotonic() < deadline:
            time.sleep(0.5)
        assert last is not None and last.verdict.earned == last.verdict.points > 0
    finally:
        studio.stop()
