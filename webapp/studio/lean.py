"""Import this before nbformat, jupyter_server or nbgrader: it skips a module that they load and never use. All
three import jsonschema, which imports `rfc3987_syntax`: building its grammar takes 1 to 3 s of processor time, and
no schema that they check uses the format `iri`.

Marked as missing, it is skipped.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None stops the import
