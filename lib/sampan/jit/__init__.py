"""Programs instead of Python: `to_static` records what a function computes and runs that.

>>> @paddle.jit.to_static
... def f(x):
...     return (x * 2).sum()
>>> f(paddle.ones([3])).item(), f(paddle.ones([3])).item()
(6.0, 6.0)
"""
