"""Loops that are generated for the elementwise calls of a Program.

formulas.py: what a call computes, as text. elementary.py, rows.py: the functions that the texts name.
chain.py: the loop, and when it runs.
"""
