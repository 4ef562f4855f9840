"""Rarely used names of Paddle, one file for each of Paddle's modules. `modules.txt` is the table of all of
Paddle's modules (see `sampan.inner`)."""
