"""The logger of `distributed.utils`."""

import logging

from sampan.distributed.utils.log_utils import get_logger


def test_a_logger_of_its_own(capsys):
    logger = get_logger("INFO", "sampan-test-logger")
    logger.info("three %s", "words")
    logger.debug("not shown")
    shown = capsys.readouterr().err
    assert shown.rstrip().endswith("- three words") and "[    INFO] test_log_utils.py:" in shown
    assert get_logger("DEBUG", "sampan-test-logger") is logger and logger.level == logging.INFO
    assert len(logger.handlers) == 1 and not logger.propagate
