"""Compares Sampan with PaddlePaddle, name by name (`make parity`).

surface: which public names there are, how a name is looked up, its signature.
spec: how a call is written down (`call(array(2, 3), axis=1)`) and the families of calls.
perform: makes a call on either library and returns a digest of the result.
aliasing: finds which arrays of a call share memory, by writing into each.
oracle: a process in PaddlePaddle's own venv that answers for it.
draw: more calls of a family, drawn by hypothesis.
table: the reasoned differences and the names that are still missing.
`python -m tools.parity --help` is the command.
"""
