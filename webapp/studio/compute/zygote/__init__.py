"""The zygote: a warm process that has imported what every kernel needs, and forks one in a fraction of a second.

`client.py` is what the Studio uses, `server.py` the warm process, `child.py` what a fork does to become a program
of its own, `spawn.py` what the two sides say to each other.
"""
