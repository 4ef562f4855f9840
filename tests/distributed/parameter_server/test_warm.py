"""The loops that are loaded before a shard is needed."""

import pytest

from sampan.distributed.parameter_server.part import Part
from sampan.distributed.parameter_server.push_log import Push
from sampan.distributed.parameter_server.warm import RULES, load_loops


def test_a_step_of_each_rule_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made, usual = [], Part.push

    def push(part: Part, given: Push) -> bool:
        made.append(part.settings.rule)
        return usual(part, given)

    monkeypatch.setattr(Part, "push", push)
    load_loops()
    assert made == [rule for rule, _ in RULES]
