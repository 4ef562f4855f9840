"""Loops of evaluated Programs, most of them generated for elementwise calls.

formulas.py: what a call computes, as text. elementary.py, rows.py: the functions that the texts name.
chain.py: the loop, and when it runs. pooling.py: max pooling for evaluation.
"""
