"""Sampan beside PaddlePaddle, name by name (`make parity`).

surface: which public names there are, how a name is looked up, its signature.
spec: how a call is written down (`call(array(2, 3), axis=1)`) and the families of calls.
perform: makes a call on either library and sums up what came back in a digest.
aliasing: finds which arrays of a call share memory, by writing into each.
oracle: a process in PaddlePaddle's own venv that answers for it.
draw: more calls of a family, drawn by hypothesis.
table: the reasoned differences and the names that are not there yet.
`python -m tools.parity --help` is the command.
"""
