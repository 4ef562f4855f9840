"""Imported before whatever imports nbformat, jupyter_server or nbgrader: leaves out what they load and never use.

All three import jsonschema, which asks for `rfc3987_syntax`: a grammar is built for 1 to 3 s of processor time, and no
schema that they check has an international address (`iri`) in it. Marked as missing, it is passed over.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
