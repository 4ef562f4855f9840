"""Distributions: what each says of itself and of values, shapes of samples, divergences, transforms."""

from tools.parity.spec import array, given, program

P2, Q2 = array(2, 3, low=0.2, high=0.9), array(3, low=0.3, high=0.8)  # probabilities, rates, widths
VALUE, COUNT = array(2, 3, low=0.05, high=0.95), given([[0, 1, 3], [2, 1, 0]], "float32")
FACTS = "batch_shape event_shape mean variance stddev"
SCORES = "log_prob prob probs cdf icdf pmf log_pmf"


def facts(P, kind, parameters, value, wanted):
    d = getattr(P.distribution, kind)(*parameters)
    found = []
    for name in wanted.split():
        fact = getattr(d, name)
        if name in SCORES.split():
            fact = fact(value)
        elif name == "entropy":
            fact = fact()
        found.append(list(fact) if isinstance(fact, tuple) else fact)
    return found


def samples(P, kind, parameters, *shapes):
    d = getattr(P.distribution, kind)(*parameters)
    return [d.sample(shape) for shape in shapes]


def divergence(P, kind, first, second):
    family = getattr(P.distribution, kind)
    return P.distribution.kl_divergence(family(*first), family(*second))


def family(kind, *parameters, wanted, value=VALUE, others=None, shapes=([], [4], [2, 3]), second=None):
    """Calls for a family: its facts, with other parameters too, its samples' shapes, its divergence."""
    calls = [
        program(facts, kind, list(p), value, wanted, text="facts") for p in [parameters, *(others or [])]
    ]
    calls.append(
        program(samples, kind, list(parameters), *shapes, text="samples").but(values=False, grad=False)
    )
    if second is not None:
        calls.append(program(divergence, kind, list(parameters), list(second), text="divergence"))
    return {f"paddle.distribution.{kind}": calls}


def transformed(P, kind, settings, x, y=None):
    t = getattr(P.distribution, kind)(*settings)
    given_back = t.inverse(t.forward(x) if y is None else y)
    return [
        t.forward(x),
        list(given_back) if isinstance(given_back, tuple) else given_back,
        t.forward_log_det_jacobian(x) if t._is_injective() else None,
        list(t.forward_shape([2, 3])),
        list(t.inverse_shape([2, 3])),
        t._domain.event_rank,
        t._codomain.event_rank,
    ]


def change(kind, *settings, x=VALUE):
    return {f"paddle.distribution.{kind}": [program(transformed, kind, list(settings), x, text="whole")]}


def chained(P, x):
    D = P.distribution
    chain = D.ChainTransform(
        [D.AffineTransform(P.to_tensor(1.0), P.to_tensor(2.0)), D.StickBreakingTransform()]
    )
    d = D.TransformedDistribution(D.Normal(P.zeros([2, 3]), P.ones([2, 3])), [chain])
    y = chain.forward(x)
    return [
        y, chain.inverse(y), chain.forward_log_det_jacobian(x), chain.inverse_log_det_jacobian(y), d.log_prob(y), d.prob(y),
        list(d.batch_shape), list(d.event_shape), d.sample([4]).shape, list(chain.forward_shape((2, 3))),
        chain._domain.event_rank, chain._codomain.event_rank,
    ]  # fmt: skip


def stacked(P, x):
    D = P.distribution
    t = D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0)
    return [t.forward(x), t.inverse(t.forward(x)), t.forward_log_det_jacobian(x), t._domain.event_rank]


def independent(P, loc, scale, value):
    D = P.distribution
    d = D.Independent(D.Normal(loc, scale), 1)
    t = D.IndependentTransform(D.ExpTransform(), 1)
    return [d.log_prob(value), d.prob(value), d.entropy(), d.mean, d.variance, list(d.batch_shape), list(d.event_shape),
            d.sample([2]).shape, t.forward_log_det_jacobian(value)]  # fmt: skip


def normal_of(P, matrix, name):
    return P.distribution.MultivariateNormal(P.to_tensor([0.1, 0.4]), **{name: matrix})


def multivariate(P, x, value, name):
    matrix = x @ x.transpose([1, 0]) + P.eye(2) if name != "scale_tril" else x.tril() + 2 * P.eye(2)
    d, other = (
        normal_of(P, matrix, name),
        normal_of(P, P.to_tensor([[2.0, 0.3], [0.3, 1.0]]), "covariance_matrix"),
    )
    return [d.mean, d.variance, d.entropy(), d.log_prob(value), d.prob(value), P.distribution.kl_divergence(d, other),
            list(d.batch_shape), list(d.event_shape), d.sample([3]).shape, d.rsample([3]).shape]  # fmt: skip


def correlations(P, concentration, method):
    d = P.distribution.LKJCholesky(3, concentration, method)
    factor = P.to_tensor([[1.0, 0, 0], [0.6, 0.8, 0], [0.3, 0.4, 0.75**0.5]])
    return [d.log_prob(factor), list(d.batch_shape), list(d.event_shape), d.sample([2]).shape]


def bregman(P, a, b):
    """A family of a user's own: entropy and divergence come from its normalizer."""

    class Own(P.distribution.ExponentialFamily):
        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_parameters(self):
            return (-self.rate,)

        def _log_normalizer(self, x):
            return -P.log(-x)

        @property
        def _mean_carrier_measure(self):
            return 0.0

    return [Own(a).entropy(), P.distribution.kl_divergence(Own(a), Own(b))]


def registered(P, a, b):
    class Mine(P.distribution.Normal):
        pass

    @P.distribution.register_kl(Mine, Mine)
    def _(p, q):
        return p.loc - q.loc

    return P.distribution.kl_divergence(Mine(a, b), Mine(b, b))


NUMBERS = [0.4, 0.7]
LISTS = [[0.4, 0.6], [0.7, 0.8]]
DOUBLES = [array(3, dtype="float64", low=0.2, high=0.8)] * 2
NUMPY = [
    array(2, numpy=True, dtype="float64", low=0.2, high=0.8),
    array(2, numpy=True, dtype="float64", low=1, high=2),
]
X, Y = array(2, 3, low=-1, high=1), array(3, low=0.5, high=1.5)
SHORT = FACTS.removesuffix(" stddev")
CASES = {
    **family(
        "Normal",
        X,
        array(2, 3, low=0.5, high=1.5),
        wanted=f"{SHORT} entropy log_prob prob probs",
        others=[NUMBERS, LISTS, DOUBLES, NUMPY, [1, 2]],
        second=[P2, P2],
    ),
    **family(
        "LogNormal",
        X,
        P2,
        wanted=f"{SHORT} entropy log_prob prob probs",
        others=[NUMBERS, LISTS],
        second=[P2, P2],
    ),
    **family(
        "Uniform",
        array(3, low=-1, high=0),
        array(3, low=1, high=2),
        wanted="batch_shape entropy log_prob prob probs",
        others=[NUMBERS, LISTS, DOUBLES[:1] + [given([3, 3, 3], "float64")], NUMPY, [0, 2]],
    ),
    **family(
        "Laplace", X, Y, wanted=f"{FACTS} entropy log_prob prob cdf icdf", others=[NUMBERS], second=[P2, Q2]
    ),
    **family("Cauchy", X, Y, wanted="entropy log_prob prob cdf", others=[NUMBERS], second=[P2, Q2]),
    **family("Gumbel", X, Y, wanted=f"{FACTS} entropy log_prob prob cdf", others=[NUMBERS]),
    **family(
        "StudentT",
        array(3, low=2.5, high=5),
        Y,
        Y,
        wanted=f"{SHORT} entropy log_prob prob",
        others=[[0.5, 0.1, 1.0], [given([0.5, 1.5, 2.0]), 0.1, 1.0]],
    ),
    **family(
        "Exponential",
        P2,
        wanted=f"{SHORT} entropy log_prob prob cdf icdf",
        others=[[0.4], [[0.4, 2.0]]],
        second=[Q2],
    ),
    **family(
        "Gamma", P2, P2, wanted=f"{SHORT} entropy log_prob prob", others=[NUMBERS, LISTS], second=[Q2, Q2]
    ),
    **family("Chi2", P2, wanted=f"{SHORT} entropy log_prob prob", others=[[3.0], [[1.0, 2.0]]]),
    **family(
        "Beta", P2, Q2, wanted=f"{SHORT} entropy log_prob prob", others=[NUMBERS, [2, 3]], second=[Q2, P2]
    ),
    **family(
        "Dirichlet",
        P2,
        wanted=f"{SHORT} entropy log_prob prob",
        value=given([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]),
        second=[array(2, 3, low=0.5, high=2)],
    ),
    **family(
        "ContinuousBernoulli",
        P2,
        wanted=f"{SHORT} entropy log_prob prob cdf icdf",
        others=[[0.4], [given([0.4995, 0.5005, 0.5])]],
        second=[array(2, 3, low=0.1, high=0.8)],
    ),
    **family(
        "Bernoulli",
        P2,
        wanted=f"{SHORT} entropy log_prob prob cdf",
        others=[[0.4], [[0.4, 0.5, 1.0]]],
        value=given([[0, 1, 0.5], [1, 1, 0]], "float32"),
        second=[Q2],
    ),
    **family(
        "Geometric", P2, wanted=f"{FACTS} entropy pmf log_pmf cdf", others=[[0.4]], value=COUNT, second=[Q2]
    ),
    **family(
        "Binomial",
        given([3, 5, 6], "int64"),
        Q2,
        wanted=f"{SHORT} entropy log_prob prob",
        others=[[4, 0.3]],
        value=COUNT,
        second=[given([3, 5, 6], "int64"), array(3, low=0.1, high=0.6)],
    ),
    **family(
        "Poisson",
        P2,
        wanted=f"{SHORT} entropy log_prob prob",
        others=[[2.0], [given([1.0, 4.0, 9.0])]],
        value=COUNT,
        second=[array(2, 3, low=0.5, high=3)],
    ),
    **family(
        "Categorical",
        P2,
        wanted="entropy log_prob prob probs",
        value=given([[0, 2], [1, 1]], "int64"),
        second=[array(2, 3, low=0.5, high=3)],
        shapes=([4], [2, 3]),
    ),
    **family(
        "Multinomial",
        4,
        P2,
        wanted=f"{SHORT} entropy log_prob prob",
        value=given([[1, 1, 2], [0, 4, 0]], "float32"),
    ),
    "paddle.distribution.MultivariateNormal": [
        program(multivariate, array(2, 2), array(4, 2), name, text="whole")
        for name in ("covariance_matrix", "precision_matrix", "scale_tril")
    ],
    "paddle.distribution.LKJCholesky": [
        program(correlations, c, method, text="whole")
        for c in (array(2, low=0.5, high=2), 1.5)
        for method in ("onion", "cvine")
    ],
    "paddle.distribution.Independent": [program(independent, X, P2, P2, text="whole")],
    "paddle.distribution.ExponentialFamily": [
        program(bregman, array(3, low=0.3, high=2), array(3, low=0.4, high=3, grad=False), text="own").but(
            grad=False
        )
    ],
    "paddle.distribution.register_kl": [
        program(registered, array(3), array(3, low=0.5, high=1), text="nearest")
    ],
    **change("ExpTransform"),
    **change("SigmoidTransform"),
    **change("TanhTransform"),
    **change("StickBreakingTransform"),
    **change("AbsTransform"),
    **change("AffineTransform", array(3), array(3, low=0.5, high=2)),
    **change("PowerTransform", given(2.0)),
    "paddle.distribution.ChainTransform": [program(chained, array(2, 3), text="whole")],
    "paddle.distribution.StackTransform": [program(stacked, array(2, 3), text="whole")],
}
# Between 0.48 and 0.52 the formulas lose digits in float32; PaddlePaddle passes no gradient through the other two's variance.
for name, tolerance in (("ContinuousBernoulli", 3e-3), ("Geometric", None), ("StudentT", None)):
    calls = CASES[f"paddle.distribution.{name}"]
    calls[0] = calls[0].but(tolerance=tolerance, grad=tolerance is not None)
    calls[-1] = calls[-1].but(tolerance=tolerance)
CASES["paddle.distribution.ReshapeTransform"] = [
    program(
        lambda P, x: [
            P.distribution.ReshapeTransform((2, 3), (6,)).forward(x),
            P.distribution.ReshapeTransform((2, 3), (6,)).forward_log_det_jacobian(x),
            list(P.distribution.ReshapeTransform((2, 3), (6,)).inverse_shape((5, 6))),
        ],
        array(4, 2, 3),
        text="whole",
    ),
]
