"""Ports and names of this machine."""

import socket

from sampan.distributed import utils


def test_ports_that_are_free():
    ports = utils.find_free_ports(3)
    assert len(ports) == 3
    for port in ports:
        with socket.socket() as one:
            one.bind(("", port))


def test_the_name_of_this_machine(monkeypatch):
    name, address = utils.get_host_name_ip()
    assert name == socket.gethostname() and socket.inet_aton(address)
    monkeypatch.setattr(socket, "gethostbyname", lambda name: socket.inet_aton("no address"))
    assert utils.get_host_name_ip() is None
    assert utils.launch_utils is utils
