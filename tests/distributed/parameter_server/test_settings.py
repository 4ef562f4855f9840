"""Settings that contradict one another; and as JSON."""

import json
from typing import Any

import pytest

from sampan.distributed.parameter_server import TableSettings


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"dim": 0}, "dim: expected a whole number of at least 1, got 0"),
        ({"dim": 2, "rule": "LBFGS"}, "rule: expected one of ASGD, SGD"),
        ({"dim": 2, "workers": 0}, "workers: expected a whole number of at least 1"),
        ({"dim": 2, "staleness": -1}, "staleness: expected None or 0 or more"),
        ({"dim": 2, "cache_rows": 8}, "rows: expected a number of rows for a table with a cache"),
        ({"dim": 2, "rows": 9, "cache_rows": 8, "admission": 2}, "cache_rows: admission, probability"),
        ({"dim": 2, "probability": 0.0}, "probability: expected above 0"),
    ],
)
def test_settings_that_contradict_are_named(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        TableSettings(**given)


def test_settings_survive_json() -> None:
    given = TableSettings(
        8, 100, initializer=("uniform", 0.5), rule="Adam", rule_settings={"lazy_mode": True}, staleness=None
    )
    assert TableSettings(**json.loads(json.dumps(given.described()))) == given
