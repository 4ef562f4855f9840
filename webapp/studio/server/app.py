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
from studio.compute.here import class_zygote
from studio.compute.settings import warm_kernels
from studio.compute.zygote.client import Zygote

from . import kernels
from .bodies import BoundedBodies

TASKS_END_S = 5.0


class StudioServer(ServerApp):
    """A ServerApp with the Studio's configuration only, and a shutdown that ends."""

    state = Instance(Path, help="private folder of the Studio")

    def load_config_file(self, *args: Any, **kwargs: Any) -> None:
        """Configuration comes only from studio.launch: files of other programs must not change it."""

    def init_httpserver(self) -> None:
        super().init_httpserver()
        self.http_server.request_callback = BoundedBodies(self.web_app)

    def init_signal(self) -> None:
        """Ctrl-C ends the loop from within, with a terminal or without. As an exception it could be raised while a
        worker thread starts; that thread would never be stopped, and Python would wait for it for ever."""
        super().init_signal()
        signal.signal(signal.SIGINT, self._interrupted)

    def _interrupted(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C does not wait
        self.stop(from_signal=True)

    def start(self) -> None:
        own = warm_kernels() and class_zygote() is None
        with Zygote(self.state).kept() if own else nullcontext():
            super().start()
            self._end_tasks()

    async def _stop(self) -> None:
        """The loop ends even if ending a kernel fails; Jupyter's own would then run for ever."""
        try:
            await asyncio.wait_for(self._cleanup(), kernels.END_S + TASKS_END_S)
        except Exception:
            self.log.exception("the shutdown was not complete")
        finally:
            self.io_loop.stop()

    async def cleanup_kernels(self) -> None:
        """Shut down each kernel separately. Jupyter's own method stops at the first failure, and hangs at a kernel
        that never started."""
        left = self.kernel_manager.list_kernel_ids()
        ends = (kernels.end(self.kernel_manager, kernel) for kernel in left)
        for kernel, answer in zip(left, await asyncio.gather(*ends, return_exceptions=True), strict=True):
            if isinstance(answer, Exception):
                self.log.error("kernel %s could not be shut down: %r", kernel, answer)

    def _end_tasks(self) -> None:
        """Cancel all pending tasks, as asyncio.run does: a library's worker thread ends with its task; otherwise
        Python would wait for the thread, and Ctrl-C would not end the Studio."""
        loop = self.io_loop.asyncio_loop  # type: ignore[attr-defined]  # an AsyncIOLoop here
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=TASKS_END_S))


class PersonalServer(StudioServer):
    """Prints its address in the Studio's words; a second `sampan studio` can find it."""

    on_started = Callable(help="called once it listens")

    def start(self) -> None:
        try:
            super().start()
        except KeyboardInterrupt:
            pass  # a second Ctrl-C during the shutdown
        finally:
            runtime.remove(self.state, self._running())

    def _bind_http_server(self) -> None:
        """Says that it is ready once it listens: another `sampan studio` that finds it asks it at once."""
        super()._bind_http_server()
        running = self._running()
        runtime.write(self.state, running)
        self.on_started()
        print(
            f"\n  The Studio is ready:\n\n    {running.address}\n\n"
            f"  Your notebooks are kept in {self.root_dir}. Stop with Ctrl-C.\n",
            flush=True,
        )

    def _running(self) -> runtime.Running:
        url = f"http://{self.ip}:{self.port}{self.base_url}"
        return runtime.this_process(self.port, url, self.identity_provider.token)
