"""Paddle's small names: number formats, flags, constructors, facts about tensors, conversions."""

import copy
import pickle

from tools.parity.spec import array, call, given, made, program, spread, unary

LIMITS = ("min", "max", "eps", "tiny", "smallest_normal", "resolution", "bits", "dtype")
CASTS = "bfloat16 bool byte char double float float16 float32 float64 half int int16 int32 int64 int8 long short uint8"
X = array(2, 3)


def limits(P, dtype, names=LIMITS):
    found = P.finfo(dtype)
    return [getattr(found, name) for name in names]


def int_limits(P, dtype):
    found = P.iinfo(dtype)
    return [found.min, found.max, found.bits, found.dtype]


def printed(P, x, **options):
    P.set_printoptions(**options)
    try:
        return str(x)
    finally:
        P.set_printoptions(precision=8, threshold=1000, edgeitems=3, linewidth=80, sci_mode=False)


def same_again(P):
    first = P.seed(7).initial_seed()
    state = P.get_rng_state()
    drawn = P.rand([5])
    P.set_rng_state(state)
    return [first, bool((drawn == P.rand([5])).all())]


def own_generator(P):
    return P.Generator().manual_seed(5).initial_seed()


def dlpack(P, x):
    return [P.from_dlpack(P.to_dlpack(x)), P.from_dlpack(x.detach())]


def parallel(P, x):
    layer = P.nn.Linear(3, 2)
    wrapped = P.DataParallel(layer)
    same = bool((wrapped(x) == layer(x)).all())
    return [same, sorted(wrapped.state_dict()), len(wrapped.parameters())]


def schedule(P):
    at = P.profiler.make_scheduler(closed=1, ready=1, record=2, repeat=2, skip_first=1)
    return [at(step).value for step in range(12)]


def dtype_facts(P, name):
    kind, other = getattr(P, name), P.int8 if name != "int8" else P.int16
    spelled = [
        str(kind),
        repr(kind),
        f"{kind}",
        kind.name,
        kind.value,
        int(kind),
        kind.__index__(),
    ]
    equal = [
        kind == getattr(P, name),
        kind != other,
        kind == other,
        kind == name,
        kind == str(kind),
        kind == int(kind),
    ]
    equal += [
        kind in [other, kind],
        kind in [name, str(kind), None],
        {kind: 1}.get(kind),
        {other: 1}.get(kind),
    ]
    equal += [P.dtype(int(kind)) == kind, P.dtype(kind) == kind, copy.deepcopy(kind) == kind]
    equal += [pickle.loads(pickle.dumps(kind)) == kind, getattr(P.dtype, kind.name) == kind]
    return [*spelled, *equal, type(kind) is P.dtype, isinstance(kind, P.dtype), type(kind).__name__]


def dtypes_of_things(P):
    layer, double = P.nn.Linear(2, 2), P.nn.Linear(2, 2).to(dtype="float64")
    x = P.ones([2], "int64")
    seen = [
        x.dtype,
        layer.weight.dtype,
        double.weight.dtype,
        layer(P.ones([1, 2])).dtype,
        (x == x).dtype,
        x.numpy().dtype,
    ]
    seen += [
        P.static.InputSpec([2], "int64").dtype,
        P.to_tensor([1.0]).to_sparse_coo(1).dtype,
        P.base.core.VarDesc.VarType,
    ]
    seen += [
        P.base.framework.convert_np_dtype_to_dtype_("float64"),
        P.base.data_feeder.convert_dtype(x.dtype),
    ]
    names = [
        P.get_default_dtype(),
        layer._dtype,
        double._dtype,
        P.iinfo("int8").dtype,
        P.finfo(P.float64).dtype,
    ]
    names += [P.distribution.Normal(0.0, 1.0).dtype, P.distribution.Cauchy(0.0, 1.0).dtype]
    made = [
        P.ones([1], kind).dtype
        for kind in (P.int, P.long, P.short, P.half, P.float, P.double, P.cfloat, P.cdouble)
    ]
    return [str(v) for v in seen[:8] + seen[9:] + names + made] + [repr(P.static.InputSpec([2], "int64"))]


def dtype_refused(P, make):
    return make(P)


FORMATS = ["float16", "bfloat16", "float32", "float64", "int32", "complex64"]
NUMBERED = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64 complex128 "
NUMBERED += "float8_e4m3fn float8_e5m2"
CASES = {
    "paddle.dtype": [program(dtype_facts, name) for name in NUMBERED.split()] + [
        program(dtypes_of_things), program(dtype_refused, lambda P: P.dtype("float32"), text="a name"),
        program(dtype_refused, lambda P: P.dtype(1.0), text="a float"),
        program(dtype_refused, lambda P: P.float32 + 1, text="added to a number"),
        program(dtype_refused, lambda P: P.float32 < P.float64, text="compared by size"),
        program(dtype_refused, lambda P: f"{P.float32:>10}", text="formatted by a width"),
        program(dtype_refused, lambda P: setattr(P.float32, "other", 1), text="given an attribute"),
    ],
    "paddle.finfo": [program(limits, dtype) for dtype in FORMATS] + [call("no dtype")],
    "paddle.iinfo": [program(int_limits, dtype) for dtype in ["int8", "int16", "int32", "int64", "uint8", "float32", "bool"]],
    "paddle.set_printoptions": [
        program(printed, array(2, 3, grad=False), text="plain"),
        program(printed, array(2, 3, grad=False), precision=3),
        program(printed, array(50, 30, grad=False, dtype="int64"), threshold=100, edgeitems=1),
        program(printed, array(2, 3, grad=False, dtype="int64"), precision=4),
    ],
    "paddle.get_flags": [call("FLAGS_check_nan_inf"), call(["FLAGS_check_nan_inf"]), call("no_such"), call(3)],
    "paddle.set_flags": [call({"FLAGS_check_nan_inf": False}), call("FLAGS_check_nan_inf"), call({"no_such": 1})],
    "paddle.in_dynamic_mode": [call()],
    "paddle.disable_static": [call()],
    "paddle.disable_signal_handler": [call()],
    "paddle.disable_compat": [call()],
    "paddle.check_shape": [call([1, 2], "zeros")],
    "paddle.seed": [program(same_again)],
    "paddle.Generator": [program(own_generator)],
    "paddle.from_dlpack": [program(dlpack, array(2, 3, grad=False)), program(dlpack, array(3, dtype="int64"))],
    "paddle.DataParallel": [program(parallel, X).but(grad=False)],
    "paddle.as_tensor": [
        call([1.5, 2]), call([1, 2]), call(X), call([1, 2], dtype="float64"), call([1.0], requires_grad=True),
        call(array(3, numpy=True)), call("text"),
    ],
    "paddle.asarray": [call([1.5, 2]), call(3), call([[1, 2], [3, 4]], dtype="complex64"), call(array(3, numpy=True))],
    "paddle.from_numpy": [call(array(3, numpy=True)), call(array(2, 2, dtype="int64", numpy=True)), call([1, 2])],
    "paddle.Size": [call([2, 3]), program(lambda P, x: [x.shape == (2, 3), x.shape == [2, 3], x.shape.numel()], X)],
    "paddle.create_parameter": [
        call([2, 3], "float32").but(values=False, grad=False), call([2, 3], "float32", is_bias=True),
        call([2], "float64", default_initializer=made(lambda P: P.nn.initializer.Constant(2.0), "2")), call(3, "float32"),
    ],
    "paddle.batch": [
        program(lambda P, *a: list(P.batch(lambda: iter(range(5)), *a)()), 2, text="two"),
        program(lambda P, *a: list(P.batch(lambda: iter(range(5)), *a)()), 2, True, text="dropped"),
        program(lambda P, *a: list(P.batch(lambda: iter(range(5)), *a)()), 0, text="none"),
    ],
    "paddle.is_tensor": [call(X), call(3), call(array(2, numpy=True))],
    **spread("is_complex is_floating_point is_integer", [call(X), call(array(2, dtype="int64")), call(array(2, dtype="complex64")), call(array(2, dtype="bool")), call(3)], "paddle"),
    **spread("is_complex is_floating_point is_integer", [call(X), call(array(2, dtype="int64"))], "Tensor"),
    **spread("numel rank", [call(X), call(array()), call(array(0, 3)), call(array(2, dtype="int64"))]),
    **spread("is_empty", [call(X), call(array(0, 3)), call(array())]),
    "paddle.shape": [call(X), call(array()), call(array(0, 3))],
    "paddle.tolist": [call(given([[1, 2], [3, 4]], "int64")), call(X), call(array())],
    **spread("FloatTensor LongTensor HalfTensor BFloat16Tensor BoolTensor IntTensor DoubleTensor ShortTensor CharTensor ByteTensor", [call([1, 2]), call(2, 3).but(values=False), call(), call((2, 3)), call(array(3, numpy=True)), call(1.5)], "paddle paddle.device"),
    **{f"Tensor.{name}": unary(0, 3, also="float64 int32 int64 bool") for name in CASTS.split()},
    **spread("cfloat cdouble complex64 complex128", [call(X).but(grad=False), call(array(2, dtype="float64")).but(grad=False)], "Tensor"),
    **spread("dim ndimension ndim element_size itemsize is_contiguous is_leaf strides get_strides stride is_dense is_dist is_sparse is_sparse_coo is_sparse_csr is_selected_rows sparse_dim dense_dim value layout device is_cuda get_device num_shard placements process_mesh offset requires_grad stop_gradient persistable inplace_version is_tensor contiguous cpu", [call(X), call(array()), call(array(2, dtype="int64"))], "Tensor"),
    "Tensor.stride": [call(X), call(X, 0), call(X, -1), call(X, 5)],
    "Tensor.type_as": [call(X, array(1, dtype="float64")), call(array(2, dtype="int64"), array(1))],
    "Tensor.apply": [
        call(array(2, 3, grad=False), made(lambda P: lambda v: v * 2, "twice")),
        call(X, made(lambda P: lambda v: v * 2, "twice")),
    ],
    "Tensor.apply_": [call(array(2, 3, grad=False), made(lambda P: lambda v: v * 2, "twice"))],
    "Tensor.repeat": [call(X, 2, 1), call(X, [2, 1, 2])],
    "Tensor.split_with_sizes": [call(X, [1, 2], 1), call(X, [1, 1])],
    "Tensor.is_same_shape": [call(X, X), call(X, array(3))],
    **spread("new_zeros new_ones", [call(X, [2]), call(X, (2, 3)), call(X, 2, 3), call(X, 4), call(X, [2], dtype="int64"), call(array(2, dtype="int64"), [2])], "Tensor"),
    "Tensor.new_full": [call(X, [2], 3), call(X, [2], 3, dtype="int64"), call(array(2, dtype="int64"), [2], 3.5)],
    "Tensor.new_empty": [call(X, [2]).but(values=False), call(X, 2, 3).but(values=False)],
    "Tensor.to": [
        call(X, "float64"), call(X, "int32"), call(X, "cpu"), call(X, array(1, dtype="float64")), call(X, dtype="float64"),
        call(X, "cpu", "float64"), call(X, "cpu", "float64", True), call(X, 3.5), call(X, "no place"),
    ],
    "Tensor.astype": [call(X, "float64"), call(X, "int64"), call(X, "bool"), call(X, "no dtype"), call(array(2, dtype="int64"), "float32")],
    "Tensor.item": [call(array(1)), call(X, 4), call(X, 1, 2), call(X), call(X, 9), call(array(dtype="int64"))],
    "Tensor.tolist": [call(X), call(array()), call(array(2, dtype="bool"))],
    "Tensor.numpy": [call(X), call(array(dtype="int64")), call(array(2, dtype="float64"))],
    **spread("clone detach contiguous cpu", [call(X), call(array()), call(array(0, 2)), call(array(2, dtype="int64"))], "Tensor"),
    "paddle.device.get_all_custom_device_type": [call()],
    "paddle.device.device_count": [call()],
    "paddle.device.is_available": [call()],
    "paddle.device.get_cudnn_version": [call()],
    "paddle.device.get_device": [call(), call(X)],
    "paddle.device.max_memory_allocated": [call()],
    "paddle.utils.require_version": [call("2.0"), call("9.0"), call(2), call("2.a"), call("2.0", "3.0"), call("2.0", "3.9")],
    "paddle.utils.try_import": [call("no_such_package"), call("no_such_package", "please install it")],
    "paddle.profiler.make_scheduler": [program(schedule), call(closed=-1, ready=1, record=4, repeat=1), call(closed=0, ready=0, record=0)],
    "paddle.hub.list": [call("/nowhere", source="local"), call("/nowhere", source="elsewhere")],
}  # fmt: skip
