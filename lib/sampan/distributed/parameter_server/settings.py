"""What a table is: its rows, the rule that steps them, and how far workers may be apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ... import optimizer
from ...engine.errors import InvalidArgument

RULES = tuple(name for name in optimizer.__all__ if name not in ("LBFGS", "Optimizer", "Lamb"))


@dataclass(frozen=True)
class TableSettings:
    """dim: the width of a row. rows: ids go from 0 to below it; None: any int64.

    cache_rows: 0: a shard's rows lie in its memory (DynamicEmbedding); otherwise so many rows of a shard
    are cached, and all lie under its folder (HybridEmbedding; with store: their dtype there). capacity,
    admission, eviction, initializer, seed: as of DynamicEmbedding; capacity is of one shard. probability:
    of a row for an id, at each look-up in training at which it has none. rule, rule_settings: the name of
    an optimizer and its arguments, but the rate, which comes with each push. workers: how many push.
    staleness: how many steps a worker may be ahead of the slowest: 0: workers take each step together, with
    the mean of their gradients; None: no bound.
    """

    dim: int
    rows: int | None = None
    cache_rows: int = 0
    store: str = "float32"
    capacity: int | None = None
    admission: int = 1
    probability: float = 1.0
    eviction: str | None = None
    initializer: tuple[str, float] = ("normal", 0.01)
    seed: int = 0
    rule: str = "SGD"
    rule_settings: dict[str, Any] = field(default_factory=dict)
    workers: int = 1
    staleness: int | None = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "initializer", tuple(self.initializer))  # from JSON it is a list
        if self.rule not in RULES:
            raise InvalidArgument(f"rule: expected one of {', '.join(RULES)}, got {self.rule!r}")
        for name, least in (("dim", 1), ("workers", 1), ("cache_rows", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InvalidArgument(f"{name}: expected a whole number of at least {least}, got {value!r}")
        if self.staleness is not None and (not isinstance(self.staleness, int) or self.staleness < 0):
            raise InvalidArgument(f"staleness: expected None or 0 or more steps, got {self.staleness!r}")
        if self.cache_rows and self.rows is None:
            raise InvalidArgument("rows: expected a number of rows for a table with a cache, got None")
        if self.cache_rows and (self.admission > 1 or self.probability < 1 or self.eviction):
            raise InvalidArgument(
                "cache_rows: admission, probability and eviction are of tables without a cache"
            )
        if not 0 < self.probability <= 1:
            raise InvalidArgument(f"probability: expected above 0 and at most 1, got {self.probability!r}")

    def described(self) -> dict[str, Any]:
        """For JSON and for messages; `TableSettings(**described)` is equal."""
        return {**asdict(self), "initializer": list(self.initializer)}
