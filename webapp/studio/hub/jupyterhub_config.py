"""JupyterHub's configuration file: it only calls `settings.configure`."""

import os
from pathlib import Path

from studio.hub import settings

c = get_config()  # type: ignore[name-defined]  # noqa: F821  # traitlets defines it for configuration files
settings.configure(c, settings.load(Path(os.environ["SAMPAN_CLASS_FOLDER"])))
