"""What a fleet trains, as the page's form says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

NETWORKS = ("mlp", "lenet")
EXCHANGES = ("plain", "half", "dgc", "local")
WORKERS = (1, 2, 3, 4)
MOST_WORKERS = 8  # with those that are added
PACES = (5, 20, 0)  # steps per second at most; 0: as fast as they can
RATES = (0, 1_000_000, 200_000, 50_000)  # bytes per second that a worker may send; 0: no limit
LONGEST = 100_000


@dataclass(frozen=True)
class Settings:
    """exchange: how gradients are exchanged: in float32, in 16 bits, their largest 1 %, or the parameters every eight
    steps. steps: of the whole run. pace: steps per second at most, 0 for no limit."""

    network: str = "mlp"
    exchange: str = "plain"
    workers: int = 2
    steps: int = 1000
    pace: int = 20

    def __post_init__(self) -> None:
        choices = {"network": NETWORKS, "exchange": EXCHANGES, "workers": WORKERS, "pace": PACES}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name}: expected one of {', '.join(map(str, allowed))}, got {getattr(self, name)!r}"
                )
        if not 1 <= self.steps <= LONGEST:
            raise ValueError(f"steps: expected 1 to {LONGEST}, got {self.steps!r}")

    @classmethod
    def of_form(cls, form: Mapping[str, str]) -> Settings:
        """From a form's texts. ValueError for what is no number, or not a choice."""
        whole = {name: int(form[name]) for name in ("workers", "steps", "pace")}
        return cls(form["network"], form["exchange"], **whole)

    @classmethod
    def of_text(cls, text: str) -> Settings:
        return cls(**json.loads(text))

    def text(self) -> str:
        return json.dumps(asdict(self))
