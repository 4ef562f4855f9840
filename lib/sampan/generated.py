"""Functions whose source is generated: defined here, so that `inspect.getsource` and tracebacks show it."""

import linecache
from typing import Any


def define(source: str, label: str, namespace: dict[str, Any]) -> None:
    """Run `source` in `namespace`, as if it came from a file called <label>."""
    name = f"<{label}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
