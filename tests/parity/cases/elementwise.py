"""Functions of one and two tensors, element by element."""

from tools.parity.spec import binary, spread, unary

CASES = {
    **spread("abs ceil cos exp", unary()),
    **spread("add", binary()),
}
