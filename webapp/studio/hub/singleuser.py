"""A learner's server under JupyterHub: the Studio with the Hub's login. As the learner's account:

python -m studio.hub.singleuser     # or a fork of the class's warm process, see spawner.py
"""

from __future__ import annotations

import os
import sys

from studio import launch
from studio.backup import states
from studio.compute.zygote.account import no_new_privileges
from studio.paths import WorkspaceError, state_folder, workspace


def main() -> int:
    no_new_privileges()
    os.umask(0o077)  # what a learner writes is the learner's
    try:
        home = workspace()
    except WorkspaceError as error:
        print(f"The workspace cannot be used: {error}", file=sys.stderr)
        return 1
    state = state_folder(home)
    state.mkdir(parents=True, exist_ok=True)
    state.chmod(0o700)
    try:
        states.settle(state)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    launch.jupyter_folders(state)
    from studio import lean  # noqa: F401  before any import of nbformat
    from studio.server.app import (
        StudioServer,
    )  # after the folders are set: Jupyter reads them while importing

    settings = launch.base(home)
    settings.ServerApp.jpserver_extensions["jupyterhub"] = (
        True  # identity, address and port: from the Hub's environment
    )
    settings.ServerApp.allow_root = False
    # jupyterhub reads it when it is imported, in a fork before the account is known: the login's cookie would go to every server.
    settings.HubAuth.base_url = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    app = StudioServer.instance(config=settings, state=state)
    app.initialize(argv=[], starter_extension="jupyterhub-singleuser", find_extensions=False)
    app.start()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
