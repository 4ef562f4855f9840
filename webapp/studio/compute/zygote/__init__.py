"""The zygote: a warm process that has imported what every kernel needs, and forks one in a fraction of a second.

`client.py` is what the Studio uses, `server.py` the warm process, `child.py` what a fork does to become an
independent program, `spawn.py` the messages between the two sides.
"""
