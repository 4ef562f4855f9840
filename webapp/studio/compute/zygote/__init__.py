"""The zygote: a warm process that has imported what every kernel needs, and forks one in a fraction of a second.

`client.py` is what the Studio uses, `server.py` the warm process, `gate.py` who may ask it, `child.py` what a fork does to become
an independent program, with `account.py` (of another account), `kernel.py` (ipykernel) and `title.py` (its command line);
`spawn.py` has the messages between the two sides. In a class root keeps one for all members (`studio/hub/warm.py`).
"""
