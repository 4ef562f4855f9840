"""Roles from Paddle's environment variables."""

import pytest

from sampan.distributed.server_roles import Roles

SERVERS = {"PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:8000,127.0.0.1:8001", "PADDLE_TRAINERS_NUM": "3"}


def test_trainers_servers_and_one_process() -> None:
    assert Roles.of_environment({}) == Roles(False, 0, 1, ())
    trainer = Roles.of_environment({**SERVERS, "TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": "2"})
    assert trainer == Roles(False, 2, 3, ("127.0.0.1:8000", "127.0.0.1:8001"))
    mine = {"TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.0.1", "PADDLE_PORT": "8001"}
    assert Roles.of_environment({**SERVERS, **mine}) == Roles(True, 1, 3, trainer.endpoints)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"TRAINING_ROLE": "BOSS"}, "TRAINING_ROLE: expected TRAINER or PSERVER, got 'BOSS'"),
        ({"PADDLE_TRAINER_ID": "one"}, "PADDLE_TRAINER_ID: expected a whole number, got 'one'"),
        ({"TRAINING_ROLE": "PSERVER", "PADDLE_PORT": "9"}, "expected one of PADDLE_PSERVERS_IP_PORT_LIST"),
    ],
)
def test_what_contradicts_is_named(given: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Roles.of_environment({**SERVERS, **given})
