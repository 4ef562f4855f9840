"""Paddle's module `fleet.utils.log_util`: the logger of distributed programs."""

from __future__ import annotations

import logging

from ...utils.log_utils import get_logger

logger = get_logger("INFO", __name__)


def set_log_level(level: str | int) -> None:
    """The least level that is shown: "DEBUG", "INFO", ..., or its number in `logging`."""
    if not isinstance(level, str | int):
        raise AssertionError(f"level's type must be str or int, got {type(level).__name__}")
    logger.setLevel(level.upper() if isinstance(level, str) else level)


def get_log_level_code() -> int:
    """The level's number in `logging`."""
    return logger.getEffectiveLevel()


def get_log_level_name() -> str:
    """The level's name."""
    return logging.getLevelName(get_log_level_code())


def layer_to_str(base: str, *args: object, **kwargs: object) -> str:
    """A call as text: base(arguments, name=value)."""
    return f"{base}({', '.join([*map(str, args), *(f'{k}={v}' for k, v in kwargs.items())])})"
