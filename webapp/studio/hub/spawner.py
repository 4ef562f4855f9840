"""How the Hub starts a member's server: as a fork of the class's warm process, else as a program of its own."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import Any

from jupyterhub.spawner import LocalProcessSpawner
from traitlets import Any as AnyTrait

from studio.compute.zygote.client import Child, NotReady, Spawn, Zygote
from studio.free_port import free_ports

MODULE = "studio.hub.singleuser"


class WarmSpawner(LocalProcessSpawner):
    """LocalProcessSpawner whose process may be a fork."""

    proc: Any = AnyTrait(None, allow_none=True, help="Popen or Child")

    async def start(self) -> tuple[str, int]:
        if self.port == 0:
            (self.port,) = free_ports(1)
        environment = self.get_env()
        try:
            self.proc = await self._forked(environment)
        except (NotReady, OSError) as reason:
            self.log.warning("The server of %s starts without the warm process: %s", self.user.name, reason)
            address: tuple[str, int] = await super().start()
            return address
        self.pid = self.proc.pid
        return (self.ip or "127.0.0.1", self.port)

    async def _forked(self, environment: dict[str, str]) -> Child:
        folder = environment.get("SAMPAN_CLASS_WARM", "")
        if not folder:
            raise NotReady("SAMPAN_WARM_KERNELS=0")
        person = pwd.getpwnam(self.user.name)
        return await Zygote(Path(folder)).spawn(
            Spawn(
                "module",
                [MODULE, *self.get_args()],
                environment,
                person.pw_dir,
                tied=False,  # a server outlives a restart of the Hub
                account=person.pw_uid,
            )
        )

    async def poll(self) -> int | None:
        if not isinstance(self.proc, Child):
            ended: int | None = await super().poll()
            return ended
        status = self.proc.poll()
        if status is not None:
            self.clear_state()
        return status

    async def _signal(self, sig: int) -> bool:
        if not isinstance(self.proc, Child):
            alive: bool = await super()._signal(sig)
            return alive
        self.proc.send_signal(sig)  # through its pidfd: its number may be another process's already
        return self.proc.poll() is None
