"""Fetching, against a server of the test's own on this machine: resume, damage, interruption."""

import hashlib
import http.server
import threading

import pytest

from sampan import datasets
from sampan.datasets import download, places
from sampan.datasets.card_file import File

BODY = bytes(range(256)) * 2000  # half a megabyte


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves BODY; honours Range unless the path says not; `/cut` closes the line halfway."""

    seen: list[str]

    def do_GET(self):
        asked = self.headers.get("Range", "")
        self.seen.append(asked)
        start = (
            int(asked.removeprefix("bytes=").removesuffix("-")) if asked and "norange" not in self.path else 0
        )
        body = BODY + b"more" if "long" in self.path else BODY
        if "missing" in self.path:
            self.send_error(404)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start : len(BODY) // 2] if "cut" in self.path else body[start:])

    def log_message(self, *_):
        return


@pytest.fixture
def server():
    seen: list[str] = []
    handler = type("Own", (Handler,), {"seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        running.seen = seen
        yield running
        running.shutdown()
        thread.join()


def file_of(server, path="/file", body=BODY):
    url = f"http://127.0.0.1:{server.server_port}{path}"
    return File(path="file", bytes=len(body), sha256=hashlib.sha256(body).hexdigest(), url=url)


def quiet(name, done, total):
    return


def test_a_file_arrives_whole_and_says_how_far_it_is(server, tmp_path):
    reports = []
    download.fetch(file_of(server), tmp_path / "new" / "file", lambda *report: reports.append(report))
    assert (tmp_path / "new" / "file").read_bytes() == BODY
    assert reports[0] == ("file", 0, len(BODY)) and reports[-1] == ("file", len(BODY), len(BODY))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["/file", "/norange"])
def test_what_has_arrived_is_not_asked_for_again(server, tmp_path, path):
    target = tmp_path / "file"
    with pytest.raises(OSError, match=r"ended after 256000 of 512000|cannot be reached"):
        download.fetch(file_of(server, "/cut"), target, quiet)
    assert not target.exists() and (tmp_path / "file.part").stat().st_size == len(BODY) // 2
    download.fetch(file_of(server, path), target, quiet)
    assert target.read_bytes() == BODY
    assert server.seen == ["", f"bytes={len(BODY) // 2}-"]


def test_another_file_never_appears_under_the_name(server, tmp_path):
    target = tmp_path / "file"
    with pytest.raises(ValueError, match="sent another file"):
        download.fetch(file_of(server, body=BODY[::-1]), target, quiet)
    with pytest.raises(ValueError, match="sends more than the 512000 bytes"):
        download.fetch(file_of(server, "/long"), target, quiet)
    assert not target.exists()


def test_a_spoilt_part_is_thrown_away_and_the_next_call_begins_again(server, tmp_path):
    (tmp_path / "file.part").write_bytes(b"x" * 1000)
    with pytest.raises(ValueError, match="sent another file"):
        download.fetch(file_of(server), tmp_path / "file", quiet)
    download.fetch(file_of(server), tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == BODY


def test_a_part_that_is_too_long_is_thrown_away(server, tmp_path):
    (tmp_path / "file.part").write_bytes(BODY + b"tail")
    download.fetch(file_of(server), tmp_path / "file", quiet)
    assert (tmp_path / "file").read_bytes() == BODY and server.seen == [""]


def test_an_unreachable_source_says_so(server, tmp_path):
    with pytest.raises(OSError, match=r"cannot be reached \(HTTP Error 404"):
        download.fetch(file_of(server, "/missing"), tmp_path / "file", quiet)


def test_load_asks_the_source_only_when_told_to(server, monkeypatch, tmp_path):
    """mnist's own card, with its addresses turned to the test's server: nothing is fetched unasked."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    mnist = datasets.card("mnist")
    for file in mnist.layouts[0].files.values():
        object.__setattr__(file, "url", f"http://127.0.0.1:{server.server_port}/file")
        object.__setattr__(file, "bytes", len(BODY))
    monkeypatch.setattr(datasets, "card", lambda name: mnist)
    with pytest.raises(FileNotFoundError):
        datasets.load("mnist")
    assert server.seen == []
    with pytest.raises(ValueError, match="sent another file"):  # the checksum on the card is MNIST's
        datasets.load("mnist", download=True, progress=quiet)
    assert server.seen == [""] and not (places.cache() / "mnist" / "train-images-idx3-ubyte.gz").exists()
