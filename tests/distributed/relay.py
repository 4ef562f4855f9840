"""A network between two processes that can be slow, lose everything, or break: relays of their connections, in threads.

gloo's processes tell one another their addresses through the key-value store. A process that reaches the store through
`StoreRelay` writes the address of a relay in place of its own, and reads addresses of relays in place of the others'.
"""

import re
import socket
import struct
import threading
import time

ADDRESS = re.compile(
    rb"\x02\x00(..)\x7f\x00\x00\x01", re.DOTALL
)  # sockaddr_in of the loopback: family, port, host

# Of two processes that with the larger address connects, and both must find the same one larger. gloo compares ports as they are sent,
# the high byte first, on a machine that reads the low byte first. In either order these are below and above the ports that Linux gives.
LOWEST, HIGHEST = range(0x0400, 0x8000, 0x100), range(0xFFFF, 0xEE00, -0x100)


class Relay:
    """Forwards connections to a port of this machine. Settings may change while it runs.

    rate: bytes in a second and direction, None for all. losing: whether what arrives is thrown away.
    """

    def __init__(self, target, ports=(0,)):
        self.target, self.rate, self.losing, self.pairs = target, None, False, []
        self.server = bound(ports)
        self.server.listen()
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            near, _ = self.server.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except ConnectionRefusedError:  # nothing listens yet: the client tries again
                near.close()
                continue
            self.pairs.append((near, far))
            for one, other, back in ((near, far, False), (far, near, True)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._forward, args=(one, other, back), daemon=True).start()

    def _forward(self, source, target, back):
        try:
            while content := source.recv(65536):
                if self.rate is not None:
                    time.sleep(len(content) / self.rate)
                if not self.losing:
                    target.sendall(self.changed(content, back))
        except OSError:
            self.cut()  # one end is gone
            return
        ended(source)
        ended(target)

    def changed(self, content, back):
        """What is sent in place of what arrived; back: on the way from the target."""
        return content

    def cut(self):
        """Break all connections."""
        for pair in self.pairs:
            for one in pair:
                ended(one)


class StoreRelay(Relay):
    """A relay of the key-value store's connections, which puts relays between the processes. relays: those."""

    def __init__(self, target):
        self.relays = {}
        super().__init__(target)

    def changed(self, content, back):
        def other(found):
            (port,) = struct.unpack(">H", found[1])
            if port in {relay.port for relay in list(self.relays.values())}:
                return found[0]
            if port not in self.relays:
                self.relays[port] = Relay(port, LOWEST if back else HIGHEST)
            return found[0].replace(found[1], struct.pack(">H", self.relays[port].port))

        return ADDRESS.sub(other, content)


def ended(connection):
    """Tell both ends that it is over. A `close` alone would wait for the thread that reads."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was over


def bound(ports):
    """A socket at the first free port."""
    for port in ports:
        made = socket.socket()
        try:
            made.bind(("127.0.0.1", port))
        except OSError:
            made.close()
        else:
            return made
    raise OSError(f"no port of {ports} is free")
