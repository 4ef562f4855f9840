"""Real recordings for the tests of speech."""

import os
import zipfile
from pathlib import Path

import pytest


@pytest.fixture
def real_sounds():
    """real_sounds(name, count): the bytes of some files of `SAMPAN_DATA`'s fsdd or audio_cmn; skips without them."""

    def take(name: str, count: int) -> list[bytes]:
        for place in os.environ.get("SAMPAN_DATA", "").split(os.pathsep):
            path = Path(place) / name / f"{name}.zip"
            if place and path.is_file():
                with zipfile.ZipFile(path) as archive:
                    names = sorted(n for n in archive.namelist() if n.endswith((".wav", ".mp3")))
                    return [archive.read(n) for n in names[:: len(names) // count][:count]]
        pytest.skip(f"needs {name} in SAMPAN_DATA")

    return take
