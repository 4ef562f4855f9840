"""What differs from PaddlePaddle 3.3.1 on purpose, each with its reason. A test fails when one no longer differs."""

from tools.parity.table import Difference

HARDWARE = "made for hardware that torch's buffers do not run on"
INSIDE = "a part of PaddlePaddle's C++ that Python programs have no use for"

# Which calls mix dtypes that PaddlePaddle does not bring together, or have a number where it wants a tensor.
MIXED = (
    r"int64[^>]*>, <\[\d?\] int32|<\[2, 3\]( -?[\d.]+\.\.[\d.]+)?>, <\[3\] int64|int32[^>]*>, <\[3\] float64"
    r"|>, 2(\.0)?\)$|<\[2, 3\]( -?[\d.]+\.\.[\d.]+)?>, <\[3\] float64"
)


def both(names: str) -> str:
    """The functions of these names, and the methods."""
    return " ".join(f"paddle.{n} Tensor.{n}" for n in names.split())


MATHS = [
    Difference(
        both(
            "add subtract sub multiply mul divide div true_divide maximum minimum fmax fmin atan2 hypot logaddexp "
            "heaviside nextafter remainder mod floor_mod floor_divide pow equal not_equal less_than less_equal greater_than "
            "greater_equal eq ne lt le gt ge less greater logical_and logical_or logical_xor bitwise_and bitwise_or "
            "bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm gammainc gammaincc copysign ldexp"
        ),
        "answer",
        "integers, floats and plain numbers promote together as Python's operators do in both libraries; PaddlePaddle's "
        "functions raise for what its operators take",
        MIXED,
    ),
    Difference(
        both("gammainc gammaincc gammainc_ gammaincc_"),
        "answer",
        "PaddlePaddle does not broadcast here: it reads past the smaller tensor and returns what it finds",
    ),
    Difference(
        both("exp"),
        "answer",
        "PaddlePaddle's complex128 exponential is exact to seven digits only",
        "complex128",
    ),
    Difference(
        both("abs sign sgn"),
        "answer",
        "the sign of NaN is 0 here, as in torch, and a number's gradient with it",
        "nan",
    ),
    Difference(
        both("deg2rad rad2deg"),
        "answer",
        "an angle given as a bool is a float afterwards, not a bool",
        "bool",
    ),
    Difference(
        both("neg neg_"),
        "answer",
        "a bool has no negative: refused, as `negative` does in PaddlePaddle",
        "bool",
    ),
    Difference(
        both("gcd lcm"),
        "answer",
        "common divisors are of integers; PaddlePaddle also takes floats",
        r"<\[[^>]*\.\.",
    ),
    Difference(
        both("sgn sinc frac frac_"),
        "answer",
        "defined for every dtype; PaddlePaddle leaves some out",
        "int|bfloat16|bool",
    ),
    Difference(
        both("divide div true_divide divide_"),
        "answer",
        "bools divide as the numbers 0 and 1, to floats",
        "bool",
    ),
    Difference(
        both("divide div floor_divide_"),
        "answer",
        "a rounded quotient is constant between its steps: its gradient is zero, where PaddlePaddle has none in one place "
        "and zeros in the other",
        "rounding_mode='(floor|trunc)'|0.4..2",
    ),
    Difference(
        both("greater_equal greater_than ge gt greater less_equal less_than le lt less"),
        "answer",
        "complex numbers have no order; PaddlePaddle compares some part of them",
        "complex",
    ),
    Difference(
        both("remainder mod floor_mod hypot hypot_"),
        "answer",
        "defined for real numbers; PaddlePaddle takes complex ones too",
        "complex",
    ),
    Difference(
        both("acosh"),
        "answer",
        "the derivative of the branch that is returned, for numbers with a negative real part too",
        "complex",
    ),
    Difference(
        both("pow"),
        "answer",
        "PaddlePaddle's gradient of a complex power is not conjugated as that of its product is",
        "complex",
    ),
    Difference(
        both("pow_"), "answer", "the exponent may be a tensor, as in `pow`; PaddlePaddle raises", r"<\[3\]"
    ),
    Difference(
        both("pow_ clip_ clamp_"),
        "answer",
        "integers refuse an exponent or a bound with a fraction in place; PaddlePaddle drops the fraction and says nothing",
        "int64",
    ),
    Difference(
        both("true_divide view_as_real view_as_complex") + " paddle.trunc paddle.trunc_",
        "signature",
        "shown with x and y as the functions that they are second names of; `input` and `other` are taken too",
    ),
    Difference(
        both("bitwise_left_shift_ bitwise_right_shift_"),
        "signature",
        "no `out`: the result of a call in place is the tensor itself",
    ),
]

LAYERS = [
    Difference(
        "paddle.nn.functional.softmax_with_cross_entropy",
        "answer",
        "labels [n] are taken where PaddlePaddle's reshape fails; the returned softmax has its gradient, which PaddlePaddle "
        "drops beside that of the loss, and without it reads memory that is not there",
        r"\[3\] int64|return_softmax",
    ),
    Difference(
        "paddle.nn.functional.log_softmax paddle.nn.functional.cross_entropy "
        "paddle.nn.functional.softmax_with_cross_entropy",
        "answer",
        "on the CPU PaddlePaddle raises logits to 64 below the largest: exp(-64) for every one further down, -inf too, and "
        "a loss of 64 at most; here the exact values, and 0 for what a mask sets to -inf",
        "-100, -300",
    ),
    Difference(
        "paddle.nn.functional.group_norm",
        "answer",
        "without a weight PaddlePaddle's gradient leaves the means out",
        r"4, 3\] -1..1>, 3\)",
    ),
    Difference(
        "paddle.nn.functional.ctc_loss",
        "answer",
        "a label that does not fit into its input has the probability 0 and the loss inf, which shows the wrong sample; its "
        "gradient is 0 in both libraries. zero_infinity=True gives the 0 of PaddlePaddle's warp-ctc, which hides it",
        r"t\(\[1\]\), t\(\[2\]\)",
    ),
    Difference(
        "paddle.nn.functional.ctc_loss",
        "answer",
        "PaddlePaddle's warp-ctc raises the probability of a class to the smallest float32, so a frame costs at most 87; "
        "here it is exact. A label without tokens in an input without frames has the probability 1 and the loss 0, "
        "where PaddlePaddle gives inf; the gradient is 0 in both",
        r"-200|t\(\[0\]\), t\(\[0\]\)",
    ),
    Difference(
        "paddle.optimizer.Adam",
        "answer",
        "a gradient of rows is taken as a dense one is, with beta^t in step t (Kingma and Ba, 2015). PaddlePaddle's sparse "
        "kernel for CPUs uses beta^(t + 1) instead: its first step is 0.74 of the learning rate, where its dense step is 1",
        "sparse=True",
    ),
    Difference(
        "paddle.nn.functional.nll_loss",
        "answer",
        "where the weights of all labels are 0 the loss is 0 and so is its gradient; PaddlePaddle's is NaN",
        r"zeros\(\[4\]\).*'mean'",
    ),
    Difference("paddle.nn.functional.interpolate", "answer", "one length may be a plain number", "9, mode"),
    Difference(
        "paddle.nn.functional.margin_cross_entropy",
        "answer",
        "works on the CPU, where PaddlePaddle has no kernel",
    ),
    Difference(
        "paddle.nn.functional.max_pool1d paddle.nn.functional.max_pool2d",
        "answer",
        "uneven padding goes with return_mask too",
        r"\[1, 0(, 0, 1)?\], True",
    ),
    Difference("paddle.nn.functional.maxout", "answer", "takes any number of axes", r"\[2, 6, 3\]"),
    Difference(
        "paddle.nn.functional.normalize",
        "answer",
        "the derivative of the value; PaddlePaddle adds epsilon to the length in the gradient only",
        "eps=0.001",
    ),
    Difference(
        "paddle.nn.SpectralNorm",
        "answer",
        "the derivative with the singular vectors that the value was made with; PaddlePaddle's is off in its third digit",
        "power_iters=50",
    ),
    Difference(
        "paddle.nn.functional.moe_permute paddle.nn.functional.moe_unpermute",
        "missing",
        "layouts for kernels of one generation of GPUs; PaddlePaddle has them on no CPU",
    ),
]
SHARING = [
    Difference(
        "Tensor.__getitem__ Tensor.__setitem__ paddle.strided_slice Tensor.strided_slice",
        "aliasing",
        "torch's memory has no negative strides: entries in reverse order are a copy, a view in PaddlePaddle",
        r"-1\]|:-[12]|:0:-1",
    ),
    Difference(
        both("expand broadcast_to"),
        "aliasing",
        "a scalar expanded to itself is a copy like every other result; PaddlePaddle's is the scalar",
        r"<\[\]>, \[\]",
    ),
    Difference(
        both("as_strided"),
        "aliasing",
        "one entry in several places is refused by in-place operators; PaddlePaddle keeps what it writes last",
        r"\[1, 0\]",
    ),
    Difference(
        both("sinc_"),
        "aliasing",
        "an in-place operator returns its tensor; PaddlePaddle returns another one that it has just written over",
    ),
    Difference(
        "Tensor.grad",
        "aliasing",
        "a gradient shares memory with nothing but itself; PaddlePaddle hands out what its own walk made, or zeroes in "
        "place what was handed out",
        r"retain_grads|clear_gradient|w\.reshape",
    ),
    Difference(
        "paddle.distribution.Laplace",
        "aliasing",
        "the mean is the parameter itself, as it is for the normal distribution in both libraries",
    ),
    Difference(
        "Tensor.__setitem__",
        "answer",
        "torch's memory has no negative strides: entries in reverse order are a copy, a view in PaddlePaddle",
        r"^y = x\[:, ::-1\]",
    ),
    Difference(
        "Tensor.grad",
        "answer",
        "a gradient that was handed out keeps its values when its tensor's is cleared; PaddlePaddle zeroes it in place",
        "clear_gradient",
    ),
]

DIFFERENCES = [
    *SHARING,
    *MATHS,
    *LAYERS,
    # --- left out ---
    Difference(
        "paddle.XPUPinnedPlace paddle.device.XPUPlace paddle.device.IPUPlace Layer.xpu", "missing", HARDWARE
    ),
    Difference("paddle.MmapStorage paddle.pstring paddle.raw", "missing", INSIDE),
    Difference(
        "Tensor.get_map_tensor Tensor.get_selected_rows Tensor.grad_ Tensor.reconstruct_from_ Tensor.rows "
        "Tensor.set_string_list Tensor.set_tensor Tensor.set_vocab",
        "missing",
        INSIDE,
    ),
    Difference(
        "paddle.dtype",
        "answer",
        "uint16 is shown as uint16; in PaddlePaddle as bfloat16, whose values NumPy holds in it",
        "uint16",
    ),
    Difference(
        "paddle.profiler.export_protobuf",
        "missing",
        "a binary form of C++ events; export_chrome_tracing writes the same as JSON",
    ),
    Difference(
        "Optimizer.fused_* Optimizer.need_refuse Optimizer.reset_need_refuse Optimizer.use_fusion_storage "
        "Optimizer.set_merged_model_params Layer.full",
        "missing",
        INSIDE,
    ),
    Difference(
        "Tensor.coalesce Tensor.cols Tensor.crows Tensor.indices Tensor.is_coalesced Tensor.nnz Tensor.to_dense "
        "Tensor.values",
        "missing",
        "of sparse tensors, which are a class of their own here; PaddlePaddle refuses them on a dense one",
    ),
    Difference(
        "paddle.linalg.fp8_fp8_half_gemm_fused",
        "missing",
        "a kernel for GPUs alone, which PaddlePaddle does not have on the CPU either",
    ),
    # --- signatures ---
    Difference(
        "paddle.nn.Layer paddle.nn.Module paddle.nn.RNNCellBase",
        "signature",
        "no dtype means the default one, which is float32 unless it was set",
    ),
    Difference(
        "paddle.cumprod_ Tensor.cumprod_",
        "signature",
        "dtype goes by its name, as in cumprod, whose twin it is",
    ),
    Difference(
        "paddle.softmax Tensor.softmax paddle.permute Tensor.permute",
        "signature",
        "both spellings are taken, x or input, axis or dim, perm or dims; Paddle takes only one here",
    ),
    Difference(
        "paddle.swapaxes paddle.swapdims Tensor.swapaxes Tensor.swapdims",
        "signature",
        "Paddle shows the signature of transpose, which is called below; two axes are what both take",
    ),
    Difference(
        "paddle.nn.Embedding paddle.nn.functional.embedding",
        "signature",
        "a table's gradient is sparse by itself; the default equals False, and can be distinguished from an explicit False, "
        "which asks for a dense gradient",
    ),
    Difference(
        "paddle.check_shape",
        "signature",
        "the defaults name classes of static graphs, which are not there",
    ),
    # --- answers ---
    Difference(
        "*",
        "answer",
        "int and float tensors, and ints of two sizes, are promoted as in NumPy and torch instead of refused",
        text="raises TypeError .*Type promotion only support",
    ),
    Difference(
        "*",
        "answer",
        "every dtype is computed that torch has a kernel for; Paddle's list of accepted dtypes is shorter",
        text="raises TypeError .*must be (one of|any of)",
    ),
    Difference(
        "*",
        "answer",
        "a number is taken where a tensor belongs, as Python's own operators take it",
        text="raises ValueError .*must be Tensor, but got (int|float|bool)",
    ),
    Difference(
        "paddle.*Tensor",
        "answer",
        "LongTensor(array) is of int64, as its name says; Paddle leaves an array's dtype as it is",
        text="numpy|float32",
    ),
    Difference(
        "*.bitwise_* *.gammainc *.gammaincc *.heaviside Tensor.__add__",
        "answer",
        "operands of two dtypes are promoted as everywhere else; these alone refuse them in Paddle",
        text="raises ValueError .*does not match the type of data",
    ),
    Difference(
        "*.gammainc *.gammainc_ *.gammaincc *.gammaincc_",
        "answer",
        "Paddle reads past the end of a broadcast argument and returns numbers that mean nothing",
        text="out",
    ),
    Difference(
        "*.sinc_",
        "answer",
        "Paddle's gradient of sinc_ counts the overwritten value: it is not the derivative of sinc",
        text="grad",
    ),
    # --- indexing and Python's operators ---
    Difference(
        "Tensor.__getitem__",
        "answer",
        "two ellipses are one, as the second has no axes left",
        text="a single ellipsis",
    ),
    Difference(
        "Tensor.__add__",
        "answer",
        "a tensor is true where it is not zero, as in Python; Paddle says that a negative one is false",
        call=r"bool\(x\[0\]\[0\]\)",
    ),
    Difference(
        "Tensor.__add__",
        "answer",
        "a text is not a number, and a float tensor is not an index of a list: both are refused",
        call=r"x\+'a'|\[10,20,30\]",
    ),
    Difference(
        "Tensor.__add__",
        "answer",
        "the sign of a zero is kept when it is printed, as by NumPy",
        call=":.1f",
        text="-0.0",
    ),
    Difference(
        "Tensor.__add__ *.div *.divide *.true_divide",
        "answer",
        "two bools are divided as numbers; Paddle divides them as ints and refuses",
        text="Integer division by zero",
    ),
    Difference(
        "Tensor.__add__",
        "answer",
        "a product of two dtypes is refused; Paddle turns the second into the first, which can lose its digits",
        call="@",
        text="same dtype",
    ),
    Difference(
        "Tensor.__add__",
        "answer",
        "a plus sign changes nothing, of a bool as of anything else",
        call=r"^\+x\(",
    ),
    # --- linear algebra ---
    Difference(
        "paddle.mm Tensor.mm",
        "answer",
        "mm is the product of two matrices, as its documentation says; matmul takes vectors",
        text="must be a matrix",
    ),
    Difference(
        "paddle.fft.fftshift paddle.fft.ifftshift",
        "answer",
        "Paddle's own call of roll fails for vectors and for one axis",
        text="SystemError",
    ),
    Difference(
        "paddle.linalg.triangular_solve",
        "answer",
        "with unitriangular the diagonal is taken to be 1 and not read, so that its gradient is 0",
        call="unitriangular",
        text="grad",
    ),
    Difference(
        "paddle.linalg.vector_norm",
        "answer",
        "the norm of order 0 counts entries that are not zero: its gradient is 0",
        call=", 0, ",
        text="grad",
    ),
    # --- arrays ---
    Difference(
        "paddle.allclose Tensor.allclose paddle.isclose Tensor.isclose",
        "answer",
        "shapes are broadcast as everywhere else; Paddle documents it and refuses",
        text="same dimension size",
    ),
    Difference(
        "*.diag_embed *.diagonal_scatter",
        "answer",
        "the values that are put in have a gradient; Paddle's does not reach them",
        text="grad",
    ),
    Difference(
        "*.masked_fill",
        "answer",
        "a value that fills several places gets the sum of their gradients, also under a mask that broadcasts",
        text="grad",
    ),
    Difference(
        "*.median *.nanmedian *.nanquantile",
        "answer",
        "the gradient goes to the entry that is the result; Paddle spreads it over rows that hold a NaN",
        call="nan",
        text="grad",
    ),
    Difference(
        "*.std *.var *.mean *.nanmedian",
        "answer",
        "statistics of ints and bools are floats; Paddle rounds within and returns ints",
        call="int|bool",
    ),
    Difference(
        "*.nonzero",
        "answer",
        "a 0-d tensor has one place or none, as in NumPy before 2.0 and in torch",
        text="number of dimension",
    ),
    Difference(
        "*.unique",
        "answer",
        "unique entries without an axis are a vector, also when there are none",
        call="0, 3",
    ),
    Difference(
        "*.transpose",
        "answer",
        "an order of axes names each axis once",
        text="not a permutation",
    ),
    Difference(
        "paddle.vision.transforms.affine paddle.vision.transforms.perspective",
        "answer",
        "what falls outside a PIL image gets the colour `fill`; Paddle hands it to Pillow as another argument, which is ignored",
        call=r"pil\(.*'bilinear', [57]",
    ),
    Difference(
        "paddle.autograd.jacobian",
        "answer",
        "J[:] has the shape that J.shape says; Paddle's has one axis more for a number a batch entry",
        call="batch",
    ),
    Difference(
        "Tensor.__add__",
        "answer",
        "a bool has no sign: the negative of one is refused",
        call=r"^-x",
    ),
    # --- sparse ---
    Difference(
        "paddle.sparse.*",
        "answer",
        "PaddlePaddle has no such kernel on the CPU; here every operator has one, of both layouts",
        text=r"\(Unimplemented\)",
    ),
    Difference(
        "paddle.sparse.nn.Conv2D paddle.sparse.nn.Conv3D paddle.sparse.nn.SubmConv2D paddle.sparse.nn.SubmConv3D "
        "paddle.sparse.nn.MaxPool3D",
        "signature",
        "one constructor serves two and three axes: without a data_format it is the one that PaddlePaddle has as default",
    ),
    Difference(
        "paddle.sparse.nn.functional.subm_conv2d paddle.sparse.nn.functional.subm_conv3d",
        "answer",
        "a submanifold convolution keeps entries and shape; PaddlePaddle names the shape of a strided one under dilation",
        call="dilation",
        text=r"out\[1\]",
    ),
    Difference(
        "paddle.sparse.slice",
        "answer",
        "the gradient of a slice has the entries of x, 0 where the slice has none; PaddlePaddle's has fewer entries, and its "
        "crows of fewer entries do not end where they should",
        call="gradient",
        text=r"out\[0\]\[2\]",
    ),
    Difference(
        "paddle.sparse.slice",
        "answer",
        "dense axes are kept and can be sliced; PaddlePaddle loses them",
        call="hybrid",
    ),
    Difference(
        "Optimizer.state_dict",
        "answer",
        "the state of an optimizer also holds how many steps each parameter has had",
        call="Momentum",
    ),
    Difference(
        "paddle.sparse.sum",
        "answer",
        "a sum over all axes has one entry at [[0]]; PaddlePaddle's indices have one axis only, and nothing takes it",
        call="coo None False",
    ),
    Difference(
        "paddle.sparse.sum",
        "answer",
        "a sum over several axes is over each of them; PaddlePaddle takes the first",
        call=r"(coo|cube) \[0, [12]\]",
    ),
    Difference(
        "paddle.sparse.sum",
        "answer",
        "compressed rows keep the summed axis; PaddlePaddle's batch without it has a shape that its crows do not fit",
        call="batch -1 False",
    ),
    Difference(
        "paddle.sparse.sum",
        "answer",
        "the gradient of a row's sum is that of its row; PaddlePaddle gives every row the last one's",
        call="csr -1 .*gradient",
    ),
    Difference(
        "paddle.sparse.sparse_coo_tensor",
        "answer",
        "no entries are entries too: indices [axes, 0] and a shape make an empty tensor",
        call="no entries",
    ),
    Difference(
        "paddle.sparse.sparse_coo_tensor",
        "answer",
        "an index below 0 is outside, and refused with its place; PaddlePaddle reads before the tensor",
        call="negative index",
    ),
    Difference(
        "paddle.sparse.sparse_csr_tensor",
        "answer",
        "compressed rows are coalesced by their making, and say so",
        call="is_coalesced",
    ),
]
