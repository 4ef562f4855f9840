"""The settings of an Engine: `auto.Strategy`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

_DEFAULTS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())


class Settings:
    """Named settings, read and written as attributes."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update({k: Settings(v) if isinstance(v, dict) else v for k, v in values.items()})

    def get(self, name: str, default: Any = None) -> Any:
        """The setting of this name."""
        return vars(self).get(name, default)

    def to_dict(self) -> dict[str, Any]:
        """All settings, those inside as dictionaries."""
        return {k: v.to_dict() if isinstance(v, Settings) else v for k, v in vars(self).items()}

    def from_dict(self, values: dict[str, Any]) -> None:
        """Take over these settings."""
        for name, value in values.items():
            inside = vars(self).get(name)
            if isinstance(inside, Settings):
                inside.from_dict(value)
            else:
                setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.to_dict()})"


class Strategy(Settings):
    """How an Engine trains: amp (enable, dtype, level), gradient_merge (enable, k_steps, avg) and sharding
    (enable, stage). The other settings are for the compiler of a static program; a pipeline is refused.

    config: a dictionary of dictionaries with the same names, such as {"amp": {"enable": True}}.
    """

    amp: Any
    gradient_merge: Any
    sharding: Any

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        if config is not None and not isinstance(config, dict):
            raise ValueError(f"Expected a dictionary. But received: {config}")
        super().__init__(copy.deepcopy(_DEFAULTS))
        self.from_dict(config or {})
