"""The allowed kernels, only those of the Studio's provisioner; and how they end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from jupyter_client.ioloop import AsyncIOLoopKernelRestarter
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

END_S = 15.0  # a start that hangs must not block the shutdown
ASK_AGAIN_S = 0.1


class StudioKernels(KernelSpecManager):
    """KernelSpecManager whose allowed list also holds for a kernel that is requested by name.

    Jupyter's own applies the list only when kernels are listed: `POST /api/kernels {"name": "python3"}` would start
    the interpreter's stock kernel, without the provisioner and with the server's whole environment.
    """

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        if kernel_name not in self.allowed_kernelspecs:
            raise NoSuchKernel(kernel_name)
        return super().get_kernel_spec(kernel_name)


class Restarter(AsyncIOLoopKernelRestarter):
    """Jupyter's, which restarts a kernel that has died; but a page's kernel is not restarted, and gives its place
    back.

    A restarted one would not know the page, which would show old output for ever and hold a place.
    """

    async def poll(self) -> None:  # type: ignore[override]  # as the class above: its own annotation is its base's
        kernel = self.kernel_manager
        of_a_page = getattr(kernel.provisioner, "of_a_page", False)
        if not of_a_page or kernel.shutting_down or await kernel.is_alive():
            await super().poll()
            return
        self.stop()
        self._fire_callbacks("dead")  # the server drops it, and its socket reports that
        await kernel.cleanup_resources()


async def end(kernels: Any, kernel_id: str) -> None:
    """End a kernel of the server's manager, if it is still there. Jupyter refuses while it starts, and fails for
    two concurrent requests: then this tries again. Raises Jupyter's error if that fails for 15 s."""
    patience = time.monotonic() + END_S
    while kernel_id in kernels:
        try:
            await kernels.shutdown_kernel(kernel_id)
        except Exception:
            if time.monotonic() > patience:
                raise
            await asyncio.sleep(ASK_AGAIN_S)
