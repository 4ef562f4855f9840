"""JupyterLab's settings follow the Studio's language and theme."""

import json
from pathlib import Path

import pytest

from studio.server import lab_settings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    return tmp_path / "lab" / "user-settings" / "@jupyterlab"


def read(settings: Path, plugin: str) -> dict[str, object]:
    told: dict[str, object] = json.loads((settings / f"{plugin}.jupyterlab-settings").read_text("utf-8"))
    return told


def test_language_and_theme(settings: Path) -> None:
    lab_settings.follow("zh", "dark")
    assert read(settings, "translation-extension/plugin") == {"locale": "zh_CN"}
    assert read(settings, "apputils-extension/themes") == {
        "adaptive-theme": False,
        "theme": "JupyterLab Dark",
    }
    lab_settings.follow("en", "system")
    assert read(settings, "translation-extension/plugin") == {"locale": "en"}
    assert read(settings, "apputils-extension/themes")["adaptive-theme"] is True


def test_other_settings_stay_and_comments_are_understood(settings: Path) -> None:
    path = settings / "apputils-extension" / "themes.jupyterlab-settings"
    path.parent.mkdir(parents=True)
    path.write_text('{\n  // mine\n  "theme-scrollbars": true,\n}')
    lab_settings.follow("en", "light")
    assert read(settings, "apputils-extension/themes") == {
        "theme-scrollbars": True,
        "adaptive-theme": False,
        "theme": "JupyterLab Light",
    }


@pytest.mark.parametrize("content", ["{", "[1]", '"text"', "\ufeff{"])
def test_a_file_that_is_not_settings_is_left_alone(settings: Path, content: str) -> None:
    path = settings / "translation-extension" / "plugin.jupyterlab-settings"
    path.parent.mkdir(parents=True)
    path.write_text(content, "utf-8")
    lab_settings.follow("zh", "light")
    assert path.read_text("utf-8") == content


def test_what_is_as_wanted_is_not_written_again(settings: Path) -> None:
    lab_settings.follow("zh", "dark")
    path = settings / "translation-extension" / "plugin.jupyterlab-settings"
    before = path.stat().st_mtime_ns
    lab_settings.follow("zh", "dark")
    assert path.stat().st_mtime_ns == before
