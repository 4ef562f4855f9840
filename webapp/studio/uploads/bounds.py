"""How large the contents of an upload may be. The size of the file itself is limited by the quota."""

from __future__ import annotations

from studio.compute.limits import Limits

GiB, MiB = 1 << 30, 1 << 20

# Of the process that reads the file (examine.py).
EXAMINE_S = 180.0
LIMITS = Limits(memory=1 * GiB, processes=64, files=64, file_bytes=1 * MiB, cpu_seconds=150)
MOST_ANSWER = 16 * MiB  # bytes of what it finds

# Of a zip file.
MOST_MEMBERS = 20_000
MOST_UNPACKED = 4 * GiB
MOST_RATIO, RATIO_FROM = 200, 1 * MiB  # unpacked to packed size, of members from this size on
LONGEST_NAME = 255

# Of tables.
MOST_COLUMNS = 4_096
LONGEST_LINE = 1 * MiB  # characters; also of a cell

# Of arrays.
MOST_AXES = 16
LONGEST_HEADER = 10_000

# Of an image.
MOST_PIXELS, LONGEST_SIDE = 40_000_000, 20_000

# Of a sound.
MOST_CHANNELS, RATES = 32, (1_000, 768_000)
