"""The Jupyter server as the Studio runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_server.serverapp import ServerApp
from traitlets import Callable, Instance

from studio import runtime
from studio.compute.zygote.client import Zygote


class StudioServer(ServerApp):
    """ServerApp that says where it is in its own words and can be found by a second `sampan studio`."""

    state = Instance(Path, help="private folder of the Studio, for the runtime file")
    on_started = Callable(help="called once the address is known")

    def load_config_file(self, *args: Any, **kwargs: Any) -> None:
        """Configuration comes from studio.launch alone: a file left by another program must not change it."""

    def start(self) -> None:
        url = f"http://{self.ip}:{self.port}{self.base_url}"
        running = runtime.this_process(self.port, url, self.identity_provider.token)
        runtime.write(self.state, running)
        self.on_started()
        print(
            f"\n  The Studio is ready:\n\n    {running.address}\n\n"
            f"  Your notebooks are kept in {self.root_dir}. Stop with Ctrl-C.\n",
            flush=True,
        )
        try:
            with Zygote(self.state).kept():
                super().start()
        finally:
            runtime.remove(self.state, running)
