"""Gradients: modes, roots and targets, hooks, layers of the tape, higher orders."""

from tools.parity.spec import array, call, program

X = array(2, 3)
Y = array(2, 3)
PLAIN = array(2, 3, grad=False)


def grads(P, x, y, **settings):
    return P.grad([(x * y).sin()], [x, y], **settings)


def grads_with_weights(P, x, y):
    return P.grad([x * y, x.exp()], [x, y], grad_outputs=[x.detach(), None])


def second_order(P, x):
    (first,) = P.grad((x**3).sum(), x, create_graph=True)
    (second,) = P.grad((first * first).sum(), x, create_graph=True)
    return [first, second, P.grad(second.sum(), x)[0]]


def unused(P, x, y, allow):
    return P.grad((x * 2).sum(), [x, y], allow_unused=allow)


def blocked(P, x):
    middle = x * 2
    return P.grad((middle * x).sum(), x, no_grad_vars=[middle])


def of_middle(P, x):
    middle = x.exp()
    return P.grad((middle * middle).sum(), [middle, x])


def single(P, x):
    result = P.grad(x.sum(), x)
    return [type(result).__name__, len(result), x.grad is None]


def twice(P, x, retain):
    y = (x * x).sum()
    y.backward(retain_graph=retain)
    y.backward()
    return x.grad.detach()


def accumulated(P, x):
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    kept = x.grad.clone()
    x.clear_gradient()
    cleared = x.grad.clone()
    x.clear_gradient(False)
    return [kept.detach(), cleared.detach(), x.grad is None]


def weighted(P, x, weights):
    (x * x).backward(weights)
    return x.grad.detach()


def several_roots(P, x, y):
    P.autograd.backward([x * 2, y * x], [None, y.detach()])
    return [x.grad.detach(), y.grad.detach()]


def modes(P, x):
    seen = [P.is_grad_enabled()]
    with P.no_grad():
        y = x * 2
        seen += [P.is_grad_enabled(), y.stop_gradient, y.is_leaf]
        with P.enable_grad():
            seen += [P.is_grad_enabled(), (x * 2).stop_gradient]
    with P.set_grad_enabled(False):
        seen.append((x * 2).stop_gradient)

    @P.no_grad()
    def inside(v):
        return (v * 2).stop_gradient

    return [*seen, inside(x), (x * 2).stop_gradient, (x * 2).is_leaf, x.is_leaf]


def hooks(P, x):
    seen = []
    y = x * 2
    handle = y.register_hook(lambda g: seen.append(g.clone()))
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    (y * y).sum().backward()
    return [[g.detach() for g in seen], x.grad.detach(), handle.remove(), handle.remove()]


def kept(P, x):
    y = x * 2
    y.retain_grads()
    (y * y).sum().backward()
    return [y.grad.detach(), x.grad.detach()]


def stopped(P, x):
    y = x * 2
    z = y.detach() * x + y
    z.sum().backward()
    return [x.grad.detach(), y.detach().stop_gradient, z.stop_gradient]


def assigned(P, x):
    x.grad = P.ones_like(x)
    (x * 2).sum().backward()
    return x.grad.detach()


def cube(P):
    class Cube(P.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, scale=1.0):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x * x * x * scale

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensor()
            return g * 3 * x * x * ctx.scale

    return Cube


def own_layer(P, x):
    return [cube(P).apply(x), cube(P).apply(x, scale=2.0)]


def two_in_two_out(P, x, y, both=True):
    class Pair(P.autograd.PyLayer):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a + b, a * b

        @staticmethod
        def backward(ctx, ga, gb):
            a, b = ctx.saved_tensor()
            return ga + gb * b, ga + gb * a

    first, second = Pair.apply(x, y)
    return [first, second] if both else second


def wrong_count(P, x, y):
    class Wrong(P.autograd.PyLayer):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g

    out = Wrong.apply(x, y)
    out.backward()
    return out


def unmarked(P, x):
    class Part(P.autograd.PyLayer):
        @staticmethod
        def forward(ctx, a):
            b, c = a * 2, a * 3
            ctx.mark_non_differentiable(c)
            return b, c

        @staticmethod
        def backward(ctx, gb, gc):
            return gb * 2

    first, second = Part.apply(x)
    return [first, second, second.stop_gradient]


def counted(P, x):
    seen = []

    class Part(P.autograd.PyLayer):
        @staticmethod
        def forward(ctx, a):
            return a * 2, a.astype("int64"), 3

        @staticmethod
        def backward(ctx, *gradients):
            seen.extend(gradients)
            return gradients[0]

    Part.apply(x)[0].sum().backward()
    return [g.detach() for g in seen]


def overwritten(P, x):
    y = x * x
    z = y.exp()
    y[0] = 0.0
    return z + y


def overwritten_saved(P, x):
    y = x.exp()
    z = y * y
    y.add_(P.ones_like(y))
    z.sum().backward()
    return x.grad.detach()


CASES = {
    "paddle.grad": [
        program(grads, X, Y, text="two"),
        program(grads, X, Y, text="graph", create_graph=True),
        program(grads, X, Y, text="retained", retain_graph=True),
        program(grads_with_weights, X, Y, text="weights"),
        program(second_order, X, text="orders"),
        program(unused, X, Y, True, text="unused"),
        program(unused, X, Y, False, text="unused"),
        program(blocked, X, text="blocked"),
        program(of_middle, X, text="middle"),
        program(single, X, text="kind"),
        call([], []),
        call(PLAIN, X),
    ],
    "Tensor.backward": [
        program(twice, X, True, text="twice"),
        program(twice, X, False, text="twice"),
        program(accumulated, X, text="accumulated"),
        program(weighted, X, PLAIN, text="weighted"),
        program(weighted, X, array(3, grad=False), text="weighted"),
        program(assigned, X, text="assigned"),
        program(stopped, X, text="stopped"),
        program(overwritten, X, text="overwritten"),
        program(overwritten_saved, X, text="saved"),
    ],
    "paddle.autograd.backward": [program(several_roots, X, Y)],
    "paddle.no_grad": [program(modes, X)],
    "Tensor.register_hook": [program(hooks, X), program(kept, X, text="kept"), call(PLAIN, None)],
    "paddle.autograd.PyLayer": [
        program(own_layer, X, text="own"),
        program(two_in_two_out, X, Y, text="pair"),
        program(two_in_two_out, X, Y, False, text="pair"),
        program(two_in_two_out, X, PLAIN, text="pair"),
        program(wrong_count, X, Y, text="wrong"),
        program(unmarked, X, text="unmarked"),
        program(counted, X, text="counted"),
    ],
}
