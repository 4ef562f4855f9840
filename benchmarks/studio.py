"""How long a visitor of the Studio waits, and what a kernel costs: `python -m benchmarks.studio [--quick]`.

Starts its own Studio and a headless browser. Meaningful on a machine that is otherwise idle. Each
page is opened in a fresh browser ("cold": nothing is cached) and again in the same one ("warm"); the table gives
medians. `--details` lists what the browser fetched for each page.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import requests

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studio.compute.zygote.client import SOCKET
from tests.webapp.running import Studio, free_port, start_studio

PATIENCE_S = 120
VISITORS = 10
MIB = 1 << 20
# An element that is on the page when a visitor can use it.
PAGES = {
    "Home (no kernel)": ("studio", "main h1", 0.3),
    "Courses (no kernel)": ("studio/courses", "main h1", 0.3),
    "Tape (widgets)": ("studio/page/tape", ".tp-form button:not([disabled])", 2.5),
    "Train (live figures)": ("studio/page/train", ".tr-form .mod-primary:not([disabled])", 4.0),
}
_IMPORTS = "import torch, numba, sampan, ipywidgets, anywidget, plotly.graph_objects"


@dataclass
class Visit:
    """Seconds from the click to the first byte, to the first content, and until the page can be used."""

    byte: float
    content: float
    interactive: float


def visit(page: Any, address: str, selector: str) -> Visit:
    began = time.perf_counter()
    page.goto(address, wait_until="commit", timeout=PATIENCE_S * 1000)
    page.wait_for_selector(selector, timeout=PATIENCE_S * 1000)
    interactive = time.perf_counter() - began
    page.wait_for_function(
        "performance.getEntriesByName('first-contentful-paint').length"
    )  # reported one frame later
    byte, content = page.evaluate(
        "[performance.getEntriesByType('navigation')[0].responseStart,"
        " performance.getEntriesByName('first-contentful-paint')[0].startTime]"
    )
    return Visit(byte / 1000, content / 1000, interactive)


def fetched(page: Any) -> str:
    """A line for each resource that the browser fetched: start and end (ms), bytes transferred."""
    entries = page.evaluate(
        "performance.getEntriesByType('resource').map(e => [e.startTime, e.responseEnd, e.transferSize,"
        " e.decodedBodySize, e.name])"
    )
    total = sum(size for _, _, size, _, _ in entries)
    lines = [
        f"    {begin:6.0f} {end:6.0f} {size:9.0f} {body:9.0f} {name.split('/', 3)[-1][:110]}"
        for begin, end, size, body, name in sorted(entries)
    ]
    return "\n".join([*lines, f"    {len(entries)} requests, {total / MIB:.2f} MiB over the wire"])


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise SystemExit("no Chromium on this machine")
    flags = ["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


def wait_for(what: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not what():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {PATIENCE_S} s: {why}")
        time.sleep(0.05)


def end_kernels(studio: Studio) -> None:
    """End all kernels, so that each visit starts in the same state."""
    session = requests.Session()
    session.trust_env = False
    session.headers.update(studio.headers)
    for kernel in session.get(f"{studio.url}api/kernels").json():
        session.delete(f"{studio.url}api/kernels/{kernel['id']}")


def measure_pages(studio: Studio, rounds: int, details: bool) -> None:
    print("| page | | first byte | content | interactive | goal |\n|---|---|---|---|---|---|")
    with chromium() as browser:
        for name, (path, selector, goal) in PAGES.items():
            cold, warm = [], []
            for _ in range(rounds):
                context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
                context.request.get(f"{studio.url}studio/health?token={studio.token}")
                page = context.new_page()
                for visits in (cold, warm):
                    visits.append(visit(page, studio.url + path, selector))
                    if (details and len(warm) == len(cold) == 1) or (details and not warm):
                        print(fetched(page))
                    page.goto("about:blank")
                    end_kernels(studio)
                context.close()
            for kind, visits in (("cold", cold), ("warm", warm)):
                row = [
                    statistics.median(getattr(one, field) for one in visits)
                    for field in ("byte", "content", "interactive")
                ]
                print(
                    f"| {name} | {kind} | "
                    + " | ".join(f"{value:.2f} s" for value in row)
                    + f" | {goal} s |",
                    flush=True,
                )


def own_memory(pid: int) -> float:
    """Memory that is freed if the process ends, in MiB."""
    return float(psutil.Process(pid).memory_full_info().uss / MIB)


def measure_kernels(studio: Studio, rounds: int) -> None:
    """Seconds from the request to the answer of a kernel with all imports done, through the Studio's address."""
    from jupyter_client.blocking.client import BlockingKernelClient

    session = requests.Session()
    session.trust_env = False
    session.headers.update(studio.headers)
    started, answered, memory = [], [], []
    for _ in range(rounds):
        began = time.perf_counter()
        kernel = session.post(f"{studio.url}api/kernels", json={"name": "sampan"}).json()["id"]
        started.append(time.perf_counter() - began)
        file = studio.home / ".studio" / "jupyter" / "runtime" / f"kernel-{kernel}.json"
        client = BlockingKernelClient(connection_file=str(file))
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE_S)
        pids: list[str] = []
        client.execute_interactive(
            f"{_IMPORTS}; import os; print(os.getpid())",
            timeout=PATIENCE_S,
            output_hook=lambda message, pids=pids: pids.append(message["content"].get("text", "")),
        )
        answered.append(time.perf_counter() - began)
        memory.append(own_memory(int("".join(pids))))
        client.stop_channels()
        session.delete(f"{studio.url}api/kernels/{kernel}")
    print("| kernel with everything imported | | goal |\n|---|---|---|")
    print(f"| request answered | {statistics.median(started):.2f} s | |")
    print(f"| first cell answered | {statistics.median(answered):.2f} s | 0.5 s |")
    print(f"| memory of its own | {statistics.median(memory):.0f} MiB | 90 MiB |")


def measure_server(studio: Studio) -> None:
    server = psutil.Process(studio.process.pid)
    zygote = next(p for p in server.children() if "studio.compute.zygote.server" in p.cmdline())
    print(
        f"\nServer {own_memory(server.pid):.0f} MiB, warm process {own_memory(zygote.pid):.0f} MiB of its own."
    )


def measure_visitors(studio: Studio, count: int) -> None:
    """Memory and time with this number of simultaneous visitors, over all processes of the Studio."""
    session = requests.Session()
    session.trust_env = False
    session.headers.update(studio.headers)

    def together() -> float:
        family = [
            psutil.Process(studio.process.pid),
            *psutil.Process(studio.process.pid).children(recursive=True),
        ]
        return sum(process.memory_full_info().pss for process in family if process.is_running()) / MIB

    before = together()
    kernels = []
    for _ in range(count):
        reply = session.get(f"{studio.url}studio/page/train")
        if reply.status_code != 200:
            break
        kernels = session.get(f"{studio.url}api/kernels").json()
    spent = (together() - before) / max(1, len(kernels))
    print(
        f"{len(kernels)} visitors on the page Train at once: {spent:.0f} MiB each (all processes, shared parts divided)."
    )
    end_kernels(studio)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="each page and kernel once")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--only", choices=("pages", "kernels"))
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    with tempfile.TemporaryDirectory() as folder:
        studio = start_studio(
            Path(folder) / "sampan", "--port", str(free_port()), SAMPAN_CPU_SLOTS=str(VISITORS + 2)
        )
        try:
            print(f"Studio up in {studio.seconds:.1f} s", end="", flush=True)
            began = time.monotonic()
            wait_for((studio.home / ".studio" / SOCKET).exists, "the warm process")
            print(
                f", warm {time.monotonic() - began:.1f} s later. Load {os.getloadavg()[0]:.1f}.\n", flush=True
            )
            if arguments.only != "pages":
                measure_kernels(studio, rounds)
                print()
            if arguments.only != "kernels":
                measure_pages(studio, rounds, arguments.details)
            measure_server(studio)
            if arguments.only != "pages":
                measure_visitors(studio, 3 if arguments.quick else VISITORS)
        finally:
            try:
                studio.stop()
            except subprocess.TimeoutExpired:
                print("the Studio did not stop in time", file=sys.stderr)


if __name__ == "__main__":
    main()
