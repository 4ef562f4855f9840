"""Static analysis of a learner's code: which cells an exercise needs, and whether the code follows the exercise's
rule.

Parsing untrusted code can take much time and memory, so a process inside the sandbox does it, before any of the
learner's code has run there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sampan.learn import forbid, slots

from .cells import Code, Look, look, made_of, needed, program

MACHINERY = (
    "sampan.learn.slots",
    "sampan.learn.drivers",
    "sampan.learn.cases",
    "sampan.learn.plain",
    "studio",
)


@dataclass(frozen=True)
class Rule:
    """The names that are forbidden in the exercise of a slot, except those in the handed-out cell (`given`)."""

    slot: str
    forbidden: tuple[str, ...]
    given: str = ""

    @property
    def own(self) -> tuple[str, ...]:
        """The library's own version."""
        places = (self.slot, slots.home_of(self.slot))
        return (
            *(f"{root}.{place}" for root in ("sampan", "paddle") for place in places),
            "sampan.learn.reference",
        )


@dataclass(frozen=True)
class Reading:
    """`needed` says for each cell whether it is run for this exercise; `broken` is the forbidden name that was found,
    `unreadable` whether the code could not be parsed to the end, `program` the source of the exercise's function with
    all that it uses."""

    needed: list[bool]
    broken: str = ""
    unreadable: bool = False
    program: str = ""


def read(cells: Sequence[Code], rules: Sequence[Rule]) -> dict[str, Reading]:
    """One reading for each rule, by its slot."""
    looks = [look(cell.source) for cell in cells]
    known: dict[str, str] = {}
    for one in looks:
        for statement, _ in one.statements:
            known |= forbid.aliases_in(statement)
    return {rule.slot: _read(cells, looks, rule, known) for rule in rules}


def _read(cells: Sequence[Code], looks: Sequence[Look], rule: Rule, known: dict[str, str]) -> Reading:
    chosen = needed(cells, looks, rule.slot)
    own = [one for cell, one, use in zip(cells, looks, chosen, strict=True) if use and not cell.given]
    given = forbid.parts(rule.given)
    try:
        broken = [
            *(
                name
                for one in own
                for statement, _ in one.statements
                for name in _machinery(statement, known)
            ),
            *(
                name
                for statement in made_of(cells, looks, rule.slot)
                for name in _used(statement, (*rule.forbidden, *rule.own), known, given)
            ),
        ]
    except (RecursionError, MemoryError):
        return Reading(chosen, unreadable=True)
    unreadable = any(one.unreadable for one in own)
    return Reading(chosen, next(iter(broken), ""), unreadable, program(cells, looks, rule.slot))


def _machinery(statement: ast.stmt, known: dict[str, str]) -> list[str]:
    imported = [name for name in forbid.aliases_in(statement).values() if _is_machinery(name)]
    return imported or _used(statement, MACHINERY, known)


def _used(
    tree: ast.AST, names: Sequence[str], known: dict[str, str], given: frozenset[str] = frozenset()
) -> list[str]:
    return [name for name, _ in forbid.uses_in(tree, names, known, given)]


def _is_machinery(name: str) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in MACHINERY)


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """`read` with plain values as argument and result."""
    cells = [Code(**{**cell, "slots": tuple(cell["slots"])}) for cell in message["cells"]]
    rules = [Rule(rule["slot"], tuple(rule["forbidden"]), rule["given"]) for rule in message["rules"]]
    found = read(cells, rules)
    return {slot: asdict(reading) for slot, reading in found.items()}
