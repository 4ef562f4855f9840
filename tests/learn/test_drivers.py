"""A driver reports an empty slot."""

import pytest

from sampan.learn import drivers


def test_a_driver_reports_an_empty_slot_and_an_unknown_driver(practice):
    with pytest.raises(LookupError, match="run its cell first"):
        drivers.run("practice.double", "call", (1,))
    with pytest.raises(ValueError, match="there is no driver 'fly'"):
        drivers.run("practice.double", "fly", (1,))
