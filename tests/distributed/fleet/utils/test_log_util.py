"""The logger of distributed programs."""

import pytest

from sampan.distributed.fleet.utils import log_util


def test_levels_and_places(capsys):
    before = log_util.get_log_level_code()
    try:
        log_util.set_log_level("warning")
        assert log_util.get_log_level_name() == "WARNING"
        log_util.set_log_level(10)
        assert log_util.get_log_level_name() == "DEBUG"
    finally:
        log_util.set_log_level(before)
    with pytest.raises(AssertionError, match="level's type must be str or int"):
        log_util.set_log_level(None)


def test_a_call_as_text():
    assert log_util.layer_to_str("Linear", 2, 3, bias=None) == "Linear(2, 3, bias=None)"
