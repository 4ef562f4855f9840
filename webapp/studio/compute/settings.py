"""Numbers from the environment, with errors that show the value."""

from __future__ import annotations

import os


def whole(name: str, least: int) -> int | None:
    """The whole number in the variable `name`, None when it is not set. ValueError below `least`."""
    value = number(name, least)
    if value is not None and value != int(value):
        raise ValueError(f"{name} must be a whole number, got {os.environ[name]!r}")
    return None if value is None else int(value)


def number(name: str, least: float) -> float | None:
    """The number in the variable `name`, None when it is not set. ValueError below `least`."""
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None
    if not least <= value < float("inf"):
        raise ValueError(f"{name} must be at least {least}, got {text!r}")
    return value


def warm_kernels() -> bool:
    """Whether a process is kept warm to fork kernels from."""
    return whole("SAMPAN_WARM_KERNELS", least=0) != 0
