"""Bodies of requests: a visitor who is not signed in cannot make the server hold a large one."""

from __future__ import annotations

import socket

import psutil
import pytest
import requests

from studio.server.bodies import ANONYMOUS_BYTES
from tests.webapp.running import Studio

pytestmark = pytest.mark.servers

MiB = 2**20


def send(studio: Studio, head: str, chunk: bytes, count: int) -> tuple[int, bytes]:
    """Send a head and `count` chunks; returns how many bytes of body went out, and the answer."""
    sent, answer = 0, b""
    with socket.create_connection(("127.0.0.1", studio.port), timeout=20) as connection:
        try:
            connection.sendall(head.replace("\n", "\r\n").encode())
            for _ in range(count):
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass  # the server has closed the connection: what it answered is read below
        try:
            while part := connection.recv(65536):
                answer += part
        except OSError:
            pass
    return sent, answer


@pytest.mark.parametrize("path", ["/login", "/studio/preferences", "/api/contents/x", "/studio/nowhere"])
@pytest.mark.parametrize("kind", ["length", "chunked"])
def test_a_large_body_of_a_stranger_is_not_read(studio: Studio, path: str, kind: str) -> None:
    server = psutil.Process(studio.process.pid)
    before = server.memory_info().rss
    body = b"x" * MiB
    head = f"POST {path} HTTP/1.1\nHost: 127.0.0.1:{studio.port}\n"
    if kind == "length":
        head += f"Content-Length: {200 * MiB}\n\n"
    else:
        head += "Transfer-Encoding: chunked\n\n"
        body = b"100000\r\n" + body + b"\r\n"
    sent, answer = send(studio, head, body, 200)
    assert sent < 32 * MiB  # what fits into the buffers of both sides before the connection is closed
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
    assert server.memory_info().rss - before < 40 * MiB


def test_a_body_with_a_wrong_token_is_limited_too(studio: Studio) -> None:
    head = (
        f"PUT /api/contents/x.txt?token=wrong HTTP/1.1\nHost: 127.0.0.1:{studio.port}\n"
        f"Authorization: token wrong\nContent-Length: {2 * ANONYMOUS_BYTES}\n\n"
    )
    _, answer = send(studio, head, b"x" * ANONYMOUS_BYTES, 2)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400")


def test_a_large_body_with_the_token_arrives(studio: Studio) -> None:
    path = f"{studio.url}api/contents/large.txt"
    content = {"type": "file", "format": "text", "content": "x" * (4 * MiB)}
    with requests.Session() as session:
        session.trust_env = False
        reply = session.put(path, json=content, headers=studio.headers, timeout=60)
        assert reply.status_code in (200, 201)
        assert (studio.home / "large.txt").stat().st_size == 4 * MiB
        assert session.delete(path, headers=studio.headers, timeout=60).status_code == 204


def test_the_login_form_still_arrives(studio: Studio) -> None:
    with requests.Session() as session:
        session.trust_env = False
        session.get(f"{studio.url}studio", timeout=60)
        form = {"password": studio.token, "_xsrf": session.cookies["_xsrf"]}
        reply = session.post(f"{studio.url}login?next=/studio", data=form, timeout=60)
        assert reply.url == f"{studio.url}studio"
