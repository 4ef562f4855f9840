"""ipykernel's application in a fork."""

from __future__ import annotations

import os
import sys
from typing import Any

from ipykernel import ipkernel
from ipykernel.kernelapp import IPKernelApp


class _WithoutModules:
    """The module `sys` as if nothing had been imported."""

    modules: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


class ForkedKernelApp(IPKernelApp):
    """Does not look at every imported module. ipykernel does, for the files that its debugger skips: each look would copy the
    page where the module is, 27 MB for each kernel. The zygote knows the files."""

    files: list[str] = []

    def init_kernel(self) -> None:
        ipkernel.sys = _WithoutModules()  # type: ignore[assignment]  # a stand-in until the kernel exists
        try:
            super().init_kernel()
        finally:
            ipkernel.sys = sys
        self.kernel._kernel_modules.extend(self.files)  # the list that the debugger has

    def write_connection_file(self, **kwargs: Any) -> None:
        """ipykernel would write the server's file again, with the same content. The server reads it while a fork starts, and
        would find it empty."""
        if not os.path.exists(self.abs_connection_file):
            super().write_connection_file(**kwargs)


def launch(argv: list[str], files: list[str]) -> None:
    """Run a kernel until it is shut down."""
    # ipywidgets registers with the kernel when it is imported: there was none yet
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].register_comm_target()
    ForkedKernelApp.files = files
    # 1: a parent watches it (here the lifeline), so it need not poll, nor print how to connect.
    ForkedKernelApp.launch_instance(argv=[*argv, "--IPKernelApp.parent_handle=1"])
