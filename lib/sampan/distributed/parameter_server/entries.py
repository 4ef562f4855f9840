"""Which ids get a row: Paddle's entries."""

from __future__ import annotations

from typing import Any


class EntryAttr:
    """Base class."""

    def __init__(self) -> None:
        self._name: str | None = None

    def _to_attr(self) -> str:
        """As Paddle writes it."""
        raise NotImplementedError("EntryAttr is base class")

    def settings(self) -> dict[str, Any]:
        """The settings of a table that follow."""
        return {}


class CountFilterEntry(EntryAttr):
    """An id gets its row when it is looked up in training for the `count_filter`-th time, once a batch."""

    def __init__(self, count_filter: int) -> None:
        super().__init__()
        if not isinstance(count_filter, int):
            raise ValueError("count_filter must be a valid integer greater than 0")
        if count_filter < 0:
            raise ValueError("count_filter must be a valid integer greater or equal than 0")
        self._name, self._count_filter = "count_filter_entry", count_filter

    def _to_attr(self) -> str:
        return f"{self._name}:{self._count_filter}"

    def settings(self) -> dict[str, Any]:
        return {"admission": max(1, self._count_filter)}


class ProbabilityEntry(EntryAttr):
    """An id without a row gets one with this probability, each time that a batch names it in training."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise ValueError("probability must be a float in (0,1)")
        self._name, self._probability = "probability_entry", probability

    def _to_attr(self) -> str:
        return f"{self._name}:{self._probability}"

    def settings(self) -> dict[str, Any]:
        return {"probability": self._probability}


class ShowClickEntry(EntryAttr):
    """Names of the inputs with shows and clicks of an id. Every id gets a row: shards keep how often one was
    looked up, and no clicks."""

    def __init__(self, show_name: str, click_name: str) -> None:
        super().__init__()
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise ValueError("show_name click_name must be a str")
        self._name, self._show_name, self._click_name = "show_click_entry", show_name, click_name

    def _to_attr(self) -> str:
        return f"{self._name}:{self._show_name}:{self._click_name}"
