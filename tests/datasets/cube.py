"""A cube, as the text of mesh files."""

import numpy as np

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)


SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "".join(
    "f " + " ".join(f"{c + 1}/1/1" for c in square) + "\n" for square in SQUARES
)


OFF = "OFF\n# a cube\n8 6 0\n" + "".join(f"{x} {y} {z}\n" for x, y, z in CUBE) + "".join(
    "4 " + " ".join(map(str, square)) + "\n" for square in SQUARES
)  # fmt: skip
