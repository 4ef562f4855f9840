"""Trained models by name: folders that hold a configuration, weights, a vocabulary and a card.

Searched, in this order: the folders of the environment variable `SAMPAN_MODELS` (separated as in `PATH`),
`sampan/models` in the user's cache, and `data` beside `sampan.models`. A model is a folder with a file
`config.json`; its card is `README.md`.
"""

import os
from pathlib import Path

from ..engine.tensor import InvalidArgument

__all__ = ["available_models", "find_model", "model_card", "model_folders"]


def model_folders() -> list[Path]:
    """The folders in which models are searched, in order; not all need exist."""
    named = [Path(folder) for folder in os.environ.get("SAMPAN_MODELS", "").split(os.pathsep) if folder]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [*named, cache / "sampan" / "models", Path(__file__).parents[1] / "models" / "data"]


def available_models() -> dict[str, Path]:
    """The folder of every model by name; the first folder of a name counts."""
    found: dict[str, Path] = {}
    for folder in model_folders():
        for config in sorted(folder.glob("*/config.json")):
            found.setdefault(config.parent.name, config.parent)
    return found


def find_model(name: str | os.PathLike[str]) -> Path:
    """The folder of a model: `name` itself if it is a folder, else an entry of `available_models`.

    Raises InvalidArgument that lists the models there are.
    """
    if Path(name).is_dir():
        return Path(name)
    there = available_models()
    if os.fspath(name) not in there:
        listed = ", ".join(there) or "none"
        searched = ", ".join(map(str, model_folders()))
        raise InvalidArgument(
            f"name: expected a folder or the name of a model, got {os.fspath(name)!r}; "
            f"models: {listed} (searched in {searched})"
        )
    return there[os.fspath(name)]


def model_card(name: str | os.PathLike[str]) -> str:
    """The card of a model, Markdown: its data, licence, training command and error rates.

    Raises InvalidArgument for an unknown name and for a model without a card.
    """
    path = find_model(name) / "README.md"
    if not path.exists():
        raise InvalidArgument(f"{path.parent}: expected a card README.md, found none")
    return path.read_text(encoding="utf-8")
