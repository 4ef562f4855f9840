"""Which kernels there are: those that go through the Studio's provisioner, and no others."""

from __future__ import annotations

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel


class StudioKernels(KernelSpecManager):
    """KernelSpecManager whose allowed list also holds for a kernel that is asked for by name.

    Jupyter's own applies the list only when kernels are listed: `POST /api/kernels {"name": "python3"}` would
    start the interpreter's stock kernel, past the provisioner and with the server's whole environment.
    """

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        if kernel_name not in self.allowed_kernelspecs:
            raise NoSuchKernel(kernel_name)
        return super().get_kernel_spec(kernel_name)
