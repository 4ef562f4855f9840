"""Which kernels there are: those that go through the Studio's provisioner, and no others; and how they end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from jupyter_client.ioloop import AsyncIOLoopKernelRestarter
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

END_S = 15.0  # a start that hangs does not hang whoever waits for the end
ASK_AGAIN_S = 0.1


class StudioKernels(KernelSpecManager):
    """KernelSpecManager whose allowed list also holds for a kernel that is asked for by name.

    Jupyter's own applies the list only when kernels are listed: `POST /api/kernels {"name": "python3"}` would
    start the interpreter's stock kernel, past the provisioner and with the server's whole environment.
    """

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        if kernel_name not in self.allowed_kernelspecs:
            raise NoSuchKernel(kernel_name)
        return super().get_kernel_spec(kernel_name)


class Restarter(AsyncIOLoopKernelRestarter):
    """Jupyter's, which starts a kernel again that has died; but a page's kernel ends there, and gives its place back.

    Started again it would know nothing of the page, which would show for ever what it last heard, and hold a place.
    """

    async def poll(self) -> None:  # type: ignore[override]  # as the class above: its own annotation is its base's
        kernel = self.kernel_manager
        of_a_page = getattr(kernel.provisioner, "of_a_page", False)
        if not of_a_page or kernel.shutting_down or await kernel.is_alive():
            await super().poll()
            return
        self.stop()
        self._fire_callbacks("dead")  # the server forgets it, and its socket says so
        await kernel.cleanup_resources()


async def end(kernels: Any, kernel_id: str) -> None:
    """End a kernel of the server's manager, if it is still there. Jupyter refuses while it starts, and fails when two ask
    for its end at once: then it is asked again. Raises what Jupyter raises when that helps for 15 s neither."""
    patience = time.monotonic() + END_S
    while kernel_id in kernels:
        try:
            await kernels.shutdown_kernel(kernel_id)
        except Exception:
            if time.monotonic() > patience:
                raise
            await asyncio.sleep(ASK_AGAIN_S)
