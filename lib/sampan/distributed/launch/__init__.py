"""Starts the processes of a program: `python -m sampan.distributed.launch --nproc_per_node 2 program.py`."""

from .main import launch as launch
