"""JupyterLab's language and theme follow the Studio's: they are in its settings before it opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import json5
from jupyter_core.paths import jupyter_config_dir

from studio.runtime import write_atomically

LOCALES = {"en": "en", "zh": "zh_CN"}
LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
THEMES: dict[str, dict[str, Any]] = {
    "system": {"adaptive-theme": True, "preferred-light-theme": LIGHT, "preferred-dark-theme": DARK},
    "light": {"adaptive-theme": False, "theme": LIGHT},
    "dark": {"adaptive-theme": False, "theme": DARK},
}


def follow(lang: str, theme: str) -> None:
    """Write both settings; other settings of the same plugins are kept. A file that cannot be parsed is left alone."""
    _set("translation-extension/plugin", {"locale": LOCALES[lang]})
    _set("apputils-extension/themes", THEMES[theme])


def _set(plugin: str, values: dict[str, Any]) -> None:
    path = (
        Path(jupyter_config_dir()) / "lab" / "user-settings" / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
    )
    try:
        before = json5.loads(path.read_text("utf-8")) if path.is_file() else {}
    except ValueError:
        return
    if not isinstance(before, dict) or {**before, **values} == before:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({**before, **values}, ensure_ascii=False, indent=2).encode())
