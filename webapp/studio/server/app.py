"""The Jupyter server as the Studio runs it."""

from __future__ import annotations

import asyncio
import signal
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from traitlets import Callable, Instance

from studio import runtime
from studio.compute.here import warm_kernels
from studio.compute.zygote.client import Zygote

from . import kernels
from .bodies import BoundedBodies

TASKS_END_S = 5.0


class StudioServer(ServerApp):
    """ServerApp that says where it is in its own words and can be found by a second `sampan studio`."""

    state = Instance(Path, help="private folder of the Studio, for the runtime file")
    on_started = Callable(help="called once the address is known")

    def load_config_file(self, *args: Any, **kwargs: Any) -> None:
        """Configuration comes from studio.launch alone: a file left by another program must not change it."""

    def init_httpserver(self) -> None:
        super().init_httpserver()
        self.http_server.request_callback = BoundedBodies(self.web_app)

    def init_signal(self) -> None:
        """Ctrl-C ends the loop from within, with a terminal or without: as an exception it may come while a worker thread is
        being started, which then nobody ends, and Python waits for it for ever."""
        super().init_signal()
        signal.signal(signal.SIGINT, self._interrupted)

    def _interrupted(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second one does not wait
        self.stop(from_signal=True)

    def start(self) -> None:
        url = f"http://{self.ip}:{self.port}{self.base_url}"
        running = runtime.this_process(self.port, url, self.identity_provider.token)
        try:
            runtime.write(self.state, running)
            self.on_started()
            print(
                f"\n  The Studio is ready:\n\n    {running.address}\n\n"
                f"  Your notebooks are kept in {self.root_dir}. Stop with Ctrl-C.\n",
                flush=True,
            )
            with Zygote(self.state).kept() if warm_kernels() else nullcontext():
                super().start()
                self._end_tasks()
        except KeyboardInterrupt:
            pass  # a second Ctrl-C, while the first one's end takes its time
        finally:
            runtime.remove(self.state, running)

    async def _stop(self) -> None:
        """The loop ends whatever becomes of the kernels: Jupyter's own stays for ever when ending one of them fails."""
        try:
            await asyncio.wait_for(self._cleanup(), kernels.END_S + TASKS_END_S)
        except Exception:
            self.log.exception("not everything could be put away")
        finally:
            self.io_loop.stop()

    async def cleanup_kernels(self) -> None:
        """End each kernel by itself. Jupyter's own gives up at the first that refuses, and for ever at one that never started."""
        left = self.kernel_manager.list_kernel_ids()
        ends = (kernels.end(self.kernel_manager, kernel) for kernel in left)
        for kernel, answer in zip(left, await asyncio.gather(*ends, return_exceptions=True), strict=True):
            if isinstance(answer, Exception):
                self.log.error("kernel %s could not be shut down: %r", kernel, answer)

    def _end_tasks(self) -> None:
        """Cancel what still waits in the loop, as asyncio.run does: a worker thread of a library ends with the task
        that it worked for, and until then Python would wait for the thread, and Ctrl-C not end the Studio."""
        loop = self.io_loop.asyncio_loop  # type: ignore[attr-defined]
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=TASKS_END_S))
