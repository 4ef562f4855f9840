"""Paddle's module `distributed.utils.log_utils`."""

import logging


def get_logger(log_level: str | int, name: str = "root") -> logging.Logger:
    """A logger that writes time, level and place to stderr, and nowhere else. A later call with the same name
    gets the same logger, whose level stays."""
    logger = logging.getLogger(name)
    logger.propagate = False
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(
            logging.Formatter("[%(asctime)-15s] [%(levelname)8s] %(filename)s:%(lineno)s - %(message)s")
        )
        logger.setLevel(log_level)
        logger.addHandler(handler)
    return logger
