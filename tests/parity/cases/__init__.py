"""What is asked of PaddlePaddle and of Sampan, one table a file.

A case file defines `CASES`: full name -> list of calls. The name's area says how it is called: `Tensor.abs` is a
method of the first argument, `Layer.`, `Optimizer.` and `Model.` alike, everything else is a function (or a class)
found under that path. Helpers are in tools/parity/spec.py::

    CASES = {
        **spread("abs cos", unary()),                    # paddle.abs, Tensor.abs, ...: wherever the name exists
        **spread("add", binary()),
        "paddle.sum": reduction() + [call(array(2, 3), dtype="float64")],
        "paddle.clip": [call(array(2, 3), -1, 1), call(array(2, 3, dtype="int64"), min=given(0, "int64"))],
        "paddle.nn.Linear": [call(4, 3, bias_attr=False).on(array(2, 4))],   # constructed, filled, called
        "paddle.rand": [call([2, 3]).but(values=False)],                      # random: shape and dtype only
        "paddle.optimizer.SGD": [program(steps, array(3), text="three steps")],  # steps(P, x): any few lines
    }

- `array(2, 3, dtype=..., low=..., high=...)` is a tensor of random values, `given([1, 2])` one of these values;
  floating ones ask for a gradient (`grad=False`: not); `numpy=True` passes a NumPy array.
- The families `unary`, `binary`, `reduction` give the usual shapes and dtypes, take `low`, `high`, `also` (dtypes)
  and settings for every call, and are continued by drawn calls in `make parity`.
- A name that ends in `_` is called on a tensor that is no leaf, and what it left there is compared too.
- A layer's weights are filled alike on both sides in the order of its state_dict, whose names and shapes are
  compared as well; gradients are of the inputs and of the parameters.
- A call that raises must raise in both; one for which PaddlePaddle has no CPU kernel is not compared.

After a change: `.venv/bin/python -m tools.parity paddle.clip` (full names, areas or patterns) asks PaddlePaddle,
prints what differs and renews the record that `make test` replays. What should differ gets a line and a reason in
tests/parity/differences.py.
"""
