"""The process of a fleet's job. It starts the workers through the launcher, which starts them again when one was killed,
does what the page asks, and writes what the page shows.

The launcher is a fork of this process, which has imported the library and read the data: workers are there within a
fraction of a second, also when their number changes. The page's requests are lines of `asked.jsonl` in the job's folder,
which the server adds; a worker is only signalled if it is a descendant of this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from studio.fleet import data, program
from studio.fleet.settings import MOST_WORKERS, RATES, Settings

LOOK_S = 0.05  # between two looks at requests
SHOW_S = 0.3  # between two states for the page
RESTARTS = 200  # of the workers, after kills: a program that fails at its start must end some time
OTHERS_S = 600  # a stopped worker is waited for so long
ENDING_S = 8.0
SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP, "resume": signal.SIGCONT}
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class Host:
    """One fleet. job: the folder of its job."""

    def __init__(self, settings: Settings, job: Path) -> None:
        self.settings, self.job = settings, job
        self.folder = job / "fleet"
        self.folder.mkdir(exist_ok=True)
        self.copies = f"fleet-{job.name}"
        self.count, self.launcher = settings.workers, 0
        self._read, self._shown = 0, 0.0

    def run(self) -> int:
        """Until the workers have ended; returns their exit status."""
        from sampan.distributed.elastic.kept import Copies, memory_folder

        data.digits()  # before the forks, which then have them
        # A job that is stopped gets SIGINT, then SIGTERM: both end it by the block below.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self._begin()
            while (status := self._status()) is None:
                for asked in self._requests():
                    self._do(asked)
                self._show()
                time.sleep(LOOK_S)
            return status
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            self._end(patience=0.0)
            self._show(now=True)
            Copies(memory_folder(self.copies)).remove()

    # ---- the launcher and its workers

    def _begin(self) -> None:
        """Start the launcher."""
        for path in self.folder.glob("report-*.json"):
            if int(path.stem.partition("-")[2]) >= self.count:
                path.unlink()
        sys.stdout.flush()
        host = os.getpid()
        self.launcher = os.fork()
        if self.launcher == 0:
            status = 1
            try:
                self._launch(host)
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else 1
            finally:
                os._exit(status)

    def _launch(self, host: int) -> None:
        from sampan.distributed.launch import launch
        from sampan.distributed.spawn import end_with_parent

        end_with_parent(host)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        tempfile.tempdir = str(self.folder)  # what is left there by SIGKILL goes with the job
        for name in THREADS:  # each worker takes its share of the cores
            os.environ.pop(name, None)
        os.environ["SAMPAN_DISTRIBUTED_TIMEOUT"] = str(OTHERS_S)
        launch(
            [
                f"--nproc_per_node={self.count}",
                f"--max_restart={RESTARTS}",
                f"--log_dir={self.job / 'artefacts' / 'logs'}",
                program.__file__,
                *(self.settings.text(), str(self.folder), self.copies),
            ]
        )

    def _status(self) -> int | None:
        """The launcher's exit status, None while it runs."""
        pid, status = os.waitpid(self.launcher, os.WNOHANG)
        if pid == 0:
            return None
        self.launcher = 0
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _end(self, patience: float = ENDING_S) -> None:
        """End the launcher and its workers, also those that are stopped: with SIGKILL after some seconds."""
        if not self.launcher:
            return
        family = self._family()
        for worker in family:
            with suppress(psutil.NoSuchProcess):
                worker.resume()
        os.kill(self.launcher, signal.SIGTERM if patience else signal.SIGKILL)  # its workers end with it
        end = time.monotonic() + patience
        while self._status() is None:
            if time.monotonic() > end:
                os.kill(self.launcher, signal.SIGKILL)
            time.sleep(LOOK_S)
        for worker in family:
            with suppress(psutil.NoSuchProcess):
                worker.kill()

    def _family(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.launcher).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    # ---- what the page asks

    def _requests(self) -> list[dict[str, Any]]:
        """The new lines of the page's requests."""
        try:
            with open(self.job / "asked.jsonl", "rb") as file:
                file.seek(self._read)
                whole, _, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        if whole:
            self._read += len(whole) + 1
        return [json.loads(line) for line in whole.splitlines()]

    def _do(self, asked: dict[str, Any]) -> None:
        from sampan.distributed.elastic.report import write_rate

        what, rank = asked["do"], asked.get("rank", -1)
        if what == "add":
            if self.count < MOST_WORKERS:
                self._end()
                self.count += 1
                self._note("add", workers=self.count)
                self._begin()
        elif what == "slow":
            if asked["rate"] in RATES and 0 <= rank < self.count:
                write_rate(self.folder, rank, asked["rate"] or None)
                self._note("slow", rank=rank, rate=asked["rate"])
        elif what in SIGNALS and (worker := self._worker(rank)) is not None:
            with suppress(psutil.NoSuchProcess):
                worker.send_signal(SIGNALS[what])
                self._note(what, rank=rank)

    def _worker(self, rank: int) -> psutil.Process | None:
        """The process of a rank, if it runs and is ours: the reports are files of the workers, which may say anything."""
        from sampan.distributed.elastic.report import read

        told = next((one for one in read(self.folder) if one.rank == rank and one.state != "killed"), None)
        return next((one for one in self._family() if told is not None and one.pid == told.pid), None)

    def _note(self, what: str, **values: Any) -> None:
        """An event for the page, and a line of the log."""
        line = json.dumps({"time": time.time(), "what": what, **values})
        with open(self.folder / "events.jsonl", "a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        print(f"fleet: {line}", flush=True)

    # ---- what the page shows

    def _show(self, now: bool = False) -> None:
        from studio.fleet import view

        if not now and time.monotonic() - self._shown < SHOW_S:
            return
        self._shown = time.monotonic()
        state = view.seen(self.folder, self.count, program.__file__)
        with suppress(FileNotFoundError):
            state |= json.loads((self.folder / program.RESULT).read_text("utf-8"))
        state |= {"count": self.count, "time": time.time()}
        written = self.folder / "state.new"
        written.write_text(json.dumps(state), "utf-8")
        written.replace(self.folder / "state.json")


def main() -> int:
    """The exit status: that of the launcher, or 130 for a job that was stopped."""
    try:
        return Host(Settings.of_text(sys.argv[1]), Path(os.environ["SAMPAN_JOB"])).run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    exit_status = main()
    sys.stdout.flush()
    os._exit(exit_status)  # at once: to free what the library has imported takes seconds on a busy machine
