"""How the Studio starts a kernel: an ordinary local process with a clean environment."""

from __future__ import annotations

import os
from typing import Any

from jupyter_client.provisioning import LocalProvisioner

from studio.environment import clean_environment


class CleanProvisioner(LocalProvisioner):
    """LocalProvisioner, less everything in the server's environment that a learner's code has no need of.

    Jupyter hands a kernel the server's whole environment by default. Lab, Voilà and nbclient all start
    kernels through the kernelspec's provisioner, so this one place covers them.
    """

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        prepared = await super().pre_launch(**kwargs)
        # After super(), which fills the environment of the kernelspec in.
        prepared["env"] = clean_environment(prepared.get("env") or os.environ)
        return prepared
