"""Indexing in every form, read and written, and Python's own operators with numbers and arrays on either side."""

from tools.parity.spec import array, given, program

X = array(3, 4, 5)
SMALL = array(3, 4)
WHOLE = array(3, 4, dtype="int64", low=-9, high=9)


def read(P, x, index):
    return x[index]


def write(P, x, value, index):
    y = x * 1
    y[index] = value
    return y


def spelled(text):
    """`x[text]` as written in a program; P is the library, m a mask, i and j index tensors."""

    def run(P, x, *more):
        names = dict(zip("mij", more, strict=False))
        return eval(f"x[{text}]", {"x": x, "P": P, **names})

    return run


def operated(text):
    def run(P, x, y=None):
        return eval(text, {"x": x, "y": y, "P": P})

    return run


BASIC = """0 -1 1,2 1,2,3 : ::2 ::-1 1:3 -2: :-1 1:1 5: :,1 :,-1 :,1:3 ...,0 0,... ...,None None :,None None,1,: 1,None,...
1,...,2 :,:,::2 2:0:-1 ::-2,1 0:3:2,-1,1: True False None,... 3 -4 :,9 0,0,0,0 1.5 'a' ...,... 10:2 [] [0] [0,2] [-1,0]
[[0,1],[1,2]] :,[0,2] [0,1],[1,2] [0,1],:,[1,2] [0,1],1 1,[0,1] [0,2],None ...,[0,1] [True,False,True] [0,1],1:3 [[0],[1]],[0,1] [5]""".split()  # noqa: SIM905
MASK = array(3, 4, dtype="bool")
ROWS = array(3, dtype="bool")
ONE = given([0, 2, 1, 0], "int64")
TWO = given([[0, 1], [2, 0]], "int64")
TENSORS = [
    ("m", MASK), ("m", ROWS), ("m,1", ROWS), ("m,:,0", ROWS), (":,m", array(4, dtype="bool")), ("m", array(3, 4, 5, dtype="bool")),
    ("m", array(2, dtype="bool")), ("m", array(3, 5, dtype="bool")), ("m", ONE), ("m", TWO), (":,m", ONE), ("m,m", ONE),
    ("...,m", ONE), ("m,0", TWO), ("0,m", ONE), ("m,:,m", ONE), ("None,m", ONE), ("m,None", ONE), ("m,1:3", ONE),
    ("m", given(1, "int64")), ("m:", given(1, "int64")), (":m,0", given(2, "int32")), ("m", given(1.0)),
    ("m", given([0, 2], "int32")), ("m", given([9], "int64")), ("m", given([-1], "int64")), ("m", given(True, "bool")),
    ("m.numpy()", MASK), ("m.numpy()", ONE), ("(m,)", ONE), ("[m, m]", ONE), ("[m]", TWO),
]  # fmt: skip
WRITES = [
    (0, 2.5), ((slice(None), 1), 0.0), ((slice(0, 2), slice(1, 3)), 1), (Ellipsis, 3), (-1, 7), ((1, 2), -1.5), (9, 1.0),
    ((slice(None, None, 2),), 4.0), ([0, 2], 1.5), (([0, 1], [1, 2]), 9.0), (slice(None, None, -1), 2), ((None, 0), 1.0),
]  # fmt: skip
VALUES = [
    (0, array(4)), (slice(0, 2), array(4)), (slice(0, 2), array(2, 1)), (slice(0, 2), array(2, 4)), (slice(0, 2), array(3, 4)),
    ([0, 2], array(2, 4)), ((slice(None), 1), array(3)), (Ellipsis, array()), (slice(None, None, -1), array(3, 4)),
    (0, array(4, dtype="float64")), (0, array(4, dtype="int64")), (0, array(4, numpy=True)), (1, array(1, 4)), (0, array(2, 1, 4)),
]  # fmt: skip
OPERATORS = """x+2 2+x x-2 2-x x*2 2*x x/2 2/x x//2 2//x x%2 2%x x**2 2**x x+1.5 1.5-x x*1.5 x/1.5 x//1.5 x%1.5 x**0.5 1.5**x -x +x
abs(x) x==2 x!=2 x<1 x<=1 x>1.5 x>=1 1<x x+True x*True x+1j x==None x!=None x+None x+'a' ~x x&1 x|1 x^1 x<<1 x>>1 1<<x x&True len(x) float(x[0][0])
int(x[0][0]) bool(x[0][0]) bool(x) float(x) list(x)[0] x@x.T x+[1.0,2.0,3.0,4.0] [1]+x x.T x.mT round(x) divmod(x,2)
hash(x)==hash(x) [10,20,30][x[0,0]*0] complex(x[0][0]) f'{x[0][0]*0:.1f}'""".split()  # noqa: SIM905
PAIRS = "x+y x-y x*y x/y x//y x%y x**y x==y x!=y x<y x<=y x>y x>=y x&y x|y x^y x@y.T".split()  # noqa: SIM905
IN_PLACE = "x+=y x-=y x*=y x/=y x//=y x%=y x**=y x&=y x|=y x^=y".split()  # noqa: SIM905


def in_place(text):
    def run(P, x, y):
        names = {"x": x * 1 if "float" in str(x.dtype) else x.clone(), "y": y}
        exec(text, names)
        return names["x"]

    return run


KINDS = [SMALL, WHOLE, array(3, 4, dtype="bool"), array(3, 4, dtype="float64"), array(3, 4, dtype="bfloat16")]
TYPED = [(a, b) for a in KINDS[:4] for b in (*KINDS[:4], array(4), array(4, numpy=True))]
CASES = {
    "Tensor.__getitem__": [program(spelled(text), X, text=text) for text in BASIC]
    + [program(spelled(text), array(4), text=f"1-D {text}") for text in BASIC[:16]]
    + [program(spelled(text), array(), text=f"0-D {text}") for text in ("...", "None", "0", ":", "True")]
    + [program(spelled(text), array(0, 3), text=f"empty {text}") for text in ("0", ":", "...,0", "[]", "0:0")]
    + [program(spelled(text), X, index, text=text) for text, index in TENSORS],
    "Tensor.__setitem__": [program(write, SMALL, value, index, text=f"{index}") for index, value in WRITES]
    + [program(write, SMALL, value, index, text=f"{index}") for index, value in VALUES]
    + [program(write, WHOLE, value, index, text=f"int {index}") for index, value in WRITES[:6]]
    + [program(write, SMALL, 1.5, mask) for mask in (MASK, ROWS, ONE, array(2, dtype="bool"))]
    + [
        program(
            write,
            SMALL,
            array(3),
            array(3, 4, dtype="bool", given=[[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]),
        )
    ],
    "Tensor.__add__": [program(operated(text), x, text=text) for x in KINDS for text in OPERATORS]
    + [program(operated(text), x, y, text=text) for text in PAIRS for x, y in TYPED],
    "Tensor.__iadd__": [program(in_place(text), x, y, text=text) for text in IN_PLACE for x, y in TYPED[:18]],
}
