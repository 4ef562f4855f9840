"""The engine: a Tensor, the tape that records operators, and the walk back along it.

A file imports only from those before it in this list:

- errors: the errors for arguments, and how they find the name of the function that was called
- printing: how a Tensor is shown
- conversion: buffers from Python's numbers and NumPy's arrays, and back
- tape: Node, one recorded call of an operator; which memory was written in place
- tensor: the class Tensor
- error_translation: how an error of torch, NumPy or Python becomes one of the function called
- apply: one call of an operator
- fast: the same for one and two inputs, faster; without this file all works as well
- spelling: other names of arguments, `out=`
- operator: declarations of operators
- backward: the walk along the tape, `grad`, `no_grad`
- pylayer: operators that a user writes

To understand one backward pass, read tape, then `apply` and `record` in apply, then `run` and `gradients_of`
in backward. errors, printing, error_translation, fast, spelling and pylayer can be left for later.
"""
