"""Ports that can be opened."""

from __future__ import annotations

import socket

import pytest

from studio.free_port import is_free


@pytest.mark.parametrize("ip", ["127.0.0.1", "::1"])
def test_a_port_is_free_until_it_is_listened_on_and_again_afterwards(ip: str) -> None:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as other:
        try:
            other.bind((ip, 0))
        except OSError:
            pytest.skip(f"this machine has no address {ip}")
        port = other.getsockname()[1]
        other.listen()
        assert not is_free(ip, port)
    assert is_free(ip, port)


def test_an_address_of_another_machine_is_an_error_of_its_own() -> None:
    with pytest.raises(OSError, match="Cannot assign requested address"):
        is_free("203.0.113.77", 8000)  # RFC 5737: of no machine
