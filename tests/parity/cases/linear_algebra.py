"""Linear algebra, Fourier transforms, signals, derivatives of functions.

What has a free sign or phase (eigenvectors, factors) is compared through what it reconstructs."""

import math

from tools.parity.spec import array, call, given, made, program, spread

A = array(3, 3, low=0.5, high=2.5)
BATCH = array(2, 3, 3, low=0.5, high=2.5)
TALL = array(4, 3)
WIDE = array(2, 3, 4)
POSITIVE = given([[4.0, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]])
SYMMETRIC = given([[2.0, 1, 0], [1, 1, 0.5], [0, 0.5, 3]])
LOWER = given([[2.0, 0, 0], [1, 1.5, 0], [0.3, 0.2, 1]])
D = array(3, 3, dtype="float64", low=0.5, high=2.5)
C = array(3, 3, dtype="complex64")
INT = array(3, 3, dtype="int64", low=-5, high=5)
V, W = array(3), array(3, low=0.5, high=2)


def rebuilt(name, **settings):
    """x from its factors, and the sizes of these."""

    def run(P, x):
        found = getattr(P.linalg, name)(x, **settings)
        if name == "svd":
            u, s, vh = found
            k = s.shape[-1]
            return [s, u[..., :k] @ (s.unsqueeze(-1) * vh[..., :k, :]), list(u.shape), list(vh.shape)]
        if name == "qr":
            q, r = found
            return [q @ r, r.abs(), list(q.shape)]
        if name == "eigh":
            values, vectors = found
            return [values, (vectors * values.unsqueeze(-2)) @ vectors.transpose([1, 0])]
        values, vectors = found
        order = values.real().argsort()
        return [values.real()[order], (x.astype("complex64") @ vectors - vectors * values).abs()]

    return run


def lu_parts(P, x, **settings):
    lu, pivots = P.linalg.lu(x, **settings)
    p, lower, upper = P.linalg.lu_unpack(lu.detach(), pivots)  # Paddle's gradient of it reads wild memory
    return [lu, pivots, p, lower, upper, p @ lower @ upper]


FRAMES = array(2, 16)
CASES = {
    **spread("cholesky", [call(POSITIVE), call(POSITIVE, upper=True), call(LOWER), call(TALL)], "Tensor paddle.linalg"),
    **spread("cholesky_solve", [call(array(3, 2), LOWER), call(array(3, 2), LOWER, upper=False)], "Tensor paddle.linalg"),
    **spread("cholesky_inverse", [call(LOWER), call(LOWER, upper=True)], "Tensor paddle.linalg"),
    **spread("inverse inv", [call(A), call(BATCH), call(D), call(TALL), call(given([[1.0, 2], [2, 4]])), call(INT)], "paddle Tensor paddle.linalg"),
    **spread("det", [call(A), call(BATCH), call(D), call(TALL), call(given([[1.0, 2], [2, 4]]))], "paddle.linalg"),
    **spread("slogdet", [call(A), call(BATCH), call(D), call(TALL)], "Tensor paddle.linalg"),
    **spread("solve", [call(A, array(3, 2)), call(A, V), call(BATCH, array(2, 3, 1)), call(A, array(2, 3, 1)), call(A, array(4, 1)), call(A, array(3, 2), left=False)], "Tensor paddle.linalg"),
    **spread("triangular_solve", [call(LOWER, array(3, 2), upper=False), call(LOWER, array(3, 2), upper=False, transpose=True), call(LOWER, array(3, 2), upper=False, unitriangular=True)], "Tensor paddle.linalg"),
    **spread("matrix_power", [call(A, 3), call(A, 0), call(A, -2), call(BATCH, 2), call(TALL, 2)], "Tensor paddle.linalg"),
    **spread("matrix_exp", [call(A), call(BATCH), call(D), call(TALL)], "paddle.linalg"),
    **spread("matrix_rank", [call(A), call(TALL), call(given([[1.0, 2], [2, 4]])), call(SYMMETRIC, hermitian=True), call(A, 5.0), call(BATCH, tol=0.1), call(A, atol=0.1, rtol=0.1)], "paddle.linalg"),
    **spread("pinv", [call(A), call(TALL), call(SYMMETRIC, hermitian=True), call(WIDE)], "Tensor paddle.linalg"),
    **spread("lstsq", [call(TALL, array(4, 2)).but(grad=False), call(A, array(3, 1)).but(grad=False), call(TALL, array(4, 2), driver="gels").but(grad=False)], "Tensor paddle.linalg"),
    **spread("cond", [call(A), *(call(A, p) for p in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)), call(BATCH, 1), call(TALL, 2), call(TALL, 1)], "Tensor paddle.linalg"),
    **spread("norm", [call(A), call(WIDE, axis=1), call(WIDE, "fro"), call(A, "nuc", axis=[0, 1]), *(call(A, p, 1) for p in (0, 1, 2, 3.5, math.inf, -math.inf)), *(call(WIDE, p, [0, 2]) for p in ("fro", 1, 2, math.inf, -math.inf)), call(WIDE, keepdim=True), call(WIDE, 2, -1, True), call(V, 1), call(array(), 2), call(array(0, 3), 2, 1), call(A, "zzz"), call(A, 2, 5), call(D)], "Tensor paddle.linalg"),
    **spread("vector_norm", [call(A), *(call(WIDE, p, a) for p in (0, 1, 2, 3.5, math.inf) for a in (None, 1, [0, 2])), call(A, keepdim=True)], "paddle.linalg"),
    **spread("matrix_norm", [call(A), *(call(WIDE, p) for p in ("fro", "nuc", 1, -1, 2, -2, math.inf)), call(WIDE, 1, [0, 1], True)], "paddle.linalg"),
    **spread("multi_dot", [call([A, array(3, 2), array(2, 4)]), call([V, A]), call([V, A, W]), call([A])], "paddle.linalg"),
    **spread("cov corrcoef", [call(TALL), call(V), call(TALL, rowvar=False), call(array(2, 3, dtype="float64"))], "Tensor paddle.linalg"),
    "paddle.linalg.cov": [call(TALL), call(TALL, ddof=False), call(TALL, fweights=given([1, 2, 3], "int64")), call(TALL, aweights=given([0.5, 1.0, 2.0], grad=False))],
    **spread("cross", [call(array(2, 3), array(2, 3)), call(array(3, 2), array(3, 2), axis=0), call(array(2, 3), array(2, 3), 1), call(array(2, 2), array(2, 2)), call(V, W)], "paddle Tensor paddle.linalg"),
    **spread("householder_product", [call(array(4, 3), V), call(array(2, 4, 3), array(2, 3))], "Tensor paddle.linalg"),
    **spread("diagonal", [call(A), call(WIDE, 1, 0, 2), call(A, offset=-1)], "paddle.linalg"),
    **spread("matrix_transpose", [call(A), call(WIDE), call(V)], "paddle Tensor paddle.linalg"),
    **spread("vecdot", [call(WIDE, WIDE), call(WIDE, array(4)), call(A, A, axis=0), call(C, C)], "paddle paddle.linalg"),
    **spread("eigvalsh", [call(SYMMETRIC), call(SYMMETRIC, "U")], "Tensor paddle.linalg"),
    **spread("svdvals", [call(A), call(TALL)], "paddle.linalg"),
    "paddle.linalg.svd": [program(rebuilt("svd"), x) for x in (A, TALL, WIDE)] + [program(rebuilt("svd", full_matrices=True), TALL, text="full").but(grad=False)],
    "paddle.linalg.qr": [program(rebuilt("qr"), x) for x in (A, TALL)] + [program(rebuilt("qr", mode="complete"), TALL, text="complete").but(grad=False)],
    "paddle.linalg.eigh": [program(rebuilt("eigh"), SYMMETRIC), program(rebuilt("eigh", UPLO="U"), SYMMETRIC, text="upper")],
    "paddle.linalg.eig": [program(rebuilt("eig"), array(3, 3, low=0.5, high=2.5, grad=False))],
    "paddle.linalg.lu": [program(lu_parts, A), program(lu_parts, BATCH), program(lu_parts, TALL).but(grad=False)],
    "paddle.linalg.matmul": [call(A, TALL, transpose_y=True), call(V, W), call(WIDE, array(4))],
    **spread("mm", [call(A, array(3, 2)), call(A, array(2, 2)), call(D, D), call(C, C), call(INT, INT), call(V, A)]),
    **spread("matmul", [call(A, array(3, 2)), call(V, W), call(V, A), call(A, V), call(WIDE, array(4)), call(WIDE, array(2, 4, 3)), call(array(5, 1, 2, 3), array(2, 3, 4)), call(A, A, True), call(A, A, False, True), call(WIDE, WIDE, True), call(WIDE, array(3, 5)), call(array(0, 3), A), call(array(2, 0), array(0, 3)), call(array(), V), call(C, C), call(D, D), call(INT, INT), call(array(2, 3, dtype="bfloat16"), array(3, 2, dtype="bfloat16"))]),
    **spread("bmm", [call(BATCH, WIDE), call(A, A), call(BATCH, array(3, 3, 1)), call(BATCH, array(2, 4, 3))]),
    **spread("mv", [call(A, V), call(TALL, V), call(A, array(4))]),
    **spread("dot inner outer", [call(V, W), call(A, A), call(V, array(4)), call(array(3, dtype="int64"), array(3, dtype="int64"))]),
    **spread("addmm baddbmm", [call(array(2, 2), array(2, 3), array(3, 2)), call(array(2), array(2, 3), array(3, 2), 0.5, 2.0), call(array(1, 2, 2), array(1, 2, 3), array(1, 3, 2))]),
    **spread("dist", [call(V, W), *(call(V, W, p) for p in (0, 1, 2, 3.5, math.inf, -math.inf)), call(A, V)]),
    **spread("cdist", [call(array(2, 3), array(4, 3)), call(array(2, 3), array(4, 3), 1.0), call(array(2, 3), array(4, 3), math.inf), call(array(2, 2, 3), array(2, 4, 3)), call(V, W)]),
    **spread("kron", [call(array(2, 2), array(2, 3)), call(V, W), call(array(2, 2, dtype="int64"), array(2, dtype="int64"))]),
    **spread("trace", [call(A), call(WIDE), call(WIDE, 1, 0, 2), call(INT), call(V), call(A, 5)]),
    **spread("tensordot", [call(WIDE, array(4, 5), 1), call(WIDE, array(3, 4), 2), call(WIDE, array(3, 2), [[0, 1], [1, 0]]), call(V, W, 0), call(A, A, 5)]),
    **spread("fft ifft", [call(FRAMES), call(FRAMES, 8), call(FRAMES, 20, 0), *(call(FRAMES, norm=n) for n in ("ortho", "forward", "backward", "zzz")), call(C), call(array(4, dtype="int64")), call(FRAMES, 0)], "paddle.fft"),
    **spread("rfft ihfft", [call(FRAMES), call(FRAMES, 7), call(FRAMES, axis=0), call(FRAMES, norm="ortho"), call(C)], "paddle.fft"),
    **spread("irfft hfft", [call(C), call(C, 5), call(C, axis=0), call(C, norm="forward"), call(FRAMES)], "paddle.fft"),
    **spread("fft2 ifft2 fftn ifftn", [call(WIDE), call(array(2, 3, 4, dtype="complex64")), call(WIDE, [2, 2], [0, 1]), call(WIDE, norm="ortho"), call(V)], "paddle.fft"),
    **spread("rfft2 rfftn ihfft2 ihfftn", [call(WIDE), call(WIDE, [2, 4], [1, 2]), call(WIDE, norm="forward")], "paddle.fft"),
    **spread("irfft2 irfftn hfft2 hfftn", [call(array(2, 3, 4, dtype="complex64")), call(array(2, 3, 4, dtype="complex64"), [2, 4], [1, 2]), call(array(2, 3, dtype="complex64"), norm="ortho")], "paddle.fft"),
    **spread("fftfreq rfftfreq", [call(5), call(6, 0.5), call(4, dtype="float64"), call(0)], "paddle.fft"),
    **spread("fftshift ifftshift", [call(V), call(WIDE), call(WIDE, 1), call(WIDE, [0, 2])], "paddle.fft"),
    "paddle.signal.stft": [call(FRAMES, 8), call(FRAMES, 8, 4, center=False), call(FRAMES, 8, 2, 6, window=array(6, low=0.1, high=1, grad=False)), call(FRAMES, 8, pad_mode="constant", normalized=True), call(FRAMES, 8, onesided=False), call(FRAMES, 99)],
    "paddle.signal.istft": [call(array(2, 5, 7, dtype="complex64"), 8), call(array(5, 7, dtype="complex64"), 8, 2, center=False), call(array(2, 5, 7, dtype="complex64"), 8, length=10), call(array(4, 7, dtype="complex64"), 8)],
    **spread("einsum", [call("ij,jk->ik", A, array(3, 2)), call("ij->ji", A), call("ii", A), call("ii->i", A), call("bij,bjk->bik", BATCH, WIDE), call("i,j->ij", V, W), call("...ij,...jk", BATCH, WIDE), call("ij,jk", A, array(2, 2)), call("ij->", A), call("ijk->kj", WIDE)], "paddle"),
    "paddle.incubate.autograd.jvp": [call(made(lambda P: lambda x: x * x, "square"), array(3, grad=False)), call(made(lambda P: lambda x: P.matmul(x, x), "xx"), array(2, 2, grad=False), array(2, 2, grad=False))],
    "paddle.incubate.autograd.vjp": [call(made(lambda P: lambda x: x * x, "square"), array(3, grad=False)), call(made(lambda P: lambda x: P.matmul(x, x), "xx"), array(2, 2, grad=False), array(2, 2, grad=False))],
    "paddle.autograd.jacobian": [program(lambda P, x: P.autograd.jacobian(x * x.sum(), x)[:], V), program(lambda P, x, y: [j[:] for j in P.autograd.jacobian(x * y, (x, y))], V, W, text="two"), program(lambda P, x: P.autograd.jacobian((x * x).sum(-1), x, batch_axis=0)[:], array(2, 3), text="batch")],
    "paddle.autograd.hessian": [program(lambda P, x: P.autograd.hessian((x**3).sum() * x[0], x)[:], V), program(lambda P, x: P.autograd.hessian((x**3).sum(-1), x, batch_axis=0)[:], array(2, 3), text="batch")],
}  # fmt: skip
