"""Schedules against torch's, epoch by epoch, and against their formulas."""

import math

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.optimizer import lr

EPOCHS = 40


def rates(scheduler):
    found = []
    for _ in range(EPOCHS):
        found.append(scheduler())
        scheduler.step()
    return found


def torch_rates(make, rate=0.5):
    optim = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], rate)
    scheduler = make(optim)
    found = []
    for _ in range(EPOCHS):
        found.append(optim.param_groups[0]["lr"])
        optim.step()
        scheduler.step()
    return found


schedulers = torch.optim.lr_scheduler


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: lr.StepDecay(0.5, 7, 0.3), lambda o: schedulers.StepLR(o, 7, 0.3)),
        (
            lambda: lr.MultiStepDecay(0.5, [3, 9, 20], 0.3),
            lambda o: schedulers.MultiStepLR(o, [3, 9, 20], 0.3),
        ),
        (lambda: lr.ExponentialDecay(0.5, 0.9), lambda o: schedulers.ExponentialLR(o, 0.9)),
        (lambda: lr.CosineAnnealingDecay(0.5, 25, 0.01), lambda o: schedulers.CosineAnnealingLR(o, 25, 0.01)),
        (lambda: lr.LambdaDecay(0.5, lambda e: 0.95**e), lambda o: schedulers.LambdaLR(o, lambda e: 0.95**e)),
        (lambda: lr.PolynomialDecay(0.5, 30, 0.0, 2.0), lambda o: schedulers.PolynomialLR(o, 30, 2.0)),
        (lambda: lr.LinearWarmup(0.5, 10, 0.05, 0.5), lambda o: schedulers.LinearLR(o, 0.1, 1.0, 10)),
        (
            lambda: lr.LinearWarmup(lr.CosineAnnealingDecay(0.5, 20), 10, 0.05, 0.5),
            lambda o: schedulers.SequentialLR(
                o, [schedulers.LinearLR(o, 0.1, 1.0, 10), schedulers.CosineAnnealingLR(o, 20)], [10]
            ),
        ),
        (
            lambda: lr.MultiplicativeDecay(0.5, lambda e: 1 - e / 99),
            lambda o: schedulers.MultiplicativeLR(o, lambda e: 1 - e / 99),
        ),
        (lambda: lr.LinearLR(0.5, 17, 0.25, 0.75), lambda o: schedulers.LinearLR(o, 0.25, 0.75, 17)),
        (
            lambda: lr.CosineAnnealingWarmRestarts(0.5, 5, 2, 0.01),
            lambda o: schedulers.CosineAnnealingWarmRestarts(o, 5, 2, 0.01),
        ),
        (
            lambda: lr.OneCycleLR(0.5, 41, 20.0, 0.001, 0.3, "cos"),
            lambda o: schedulers.OneCycleLR(
                o, 0.5, 41, div_factor=20.0, final_div_factor=25.0, pct_start=0.3
            ),
        ),
        (
            lambda: lr.OneCycleLR(0.5, 41, 20.0, 0.001, 0.3, "linear", three_phase=True),
            lambda o: schedulers.OneCycleLR(
                o,
                0.5,
                41,
                None,
                None,
                0.3,
                "linear",
                div_factor=20.0,
                final_div_factor=25.0,
                three_phase=True,
            ),
        ),
        (
            lambda: lr.CyclicLR(0.1, 0.5, 4, 3, "triangular2"),
            lambda o: schedulers.CyclicLR(o, 0.1, 0.5, 4, 3, "triangular2", cycle_momentum=False),
        ),
        (
            lambda: lr.CyclicLR(0.1, 0.5, 4, mode="exp_range", exp_gamma=0.9),
            lambda o: schedulers.CyclicLR(o, 0.1, 0.5, 4, None, "exp_range", 0.9, cycle_momentum=False),
        ),
    ],
    ids=[
        "step",
        "multistep",
        "exponential",
        "cosine",
        "lambda",
        "polynomial",
        "warmup",
        "warmup-cosine",
        "multiplicative",
        "linear",
        "restarts",
        "one-cycle",
        "one-cycle-3",
        "cyclic",
        "cyclic-exp",
    ],
)
@pytest.mark.filterwarnings(
    "ignore:The epoch parameter in `scheduler.step:UserWarning"
)  # torch's own SequentialLR
def test_equals_torch(ours, theirs):
    mine, other = rates(ours()), torch_rates(theirs)
    if isinstance(ours(), lr.CosineAnnealingDecay):
        mine, other = mine[:26], other[:26]  # past T_max torch follows a recursion
    np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_noam_and_piecewise_and_cyclic_polynomial_are_their_formulas():
    noam = rates(lr.NoamDecay(64, 10, 2.0))
    for e in range(1, EPOCHS):
        assert noam[e] == pytest.approx(2 * 64**-0.5 * min(e**-0.5, e * 10**-1.5), rel=1e-12)
    assert rates(lr.PiecewiseDecay([3, 6], [0.1, 0.2, 0.3]))[:8] == [0.1] * 3 + [0.2] * 3 + [0.3] * 2
    cyclic = rates(lr.PolynomialDecay(1.0, 10, 0.1, cycle=True))
    assert cyclic[10] == pytest.approx(0.1) and cyclic[15] == pytest.approx(0.1 + 0.9 * (1 - 15 / 20))


def test_plateau_equals_torch():
    values = [
        1.0,
        0.9,
        0.95,
        0.93,
        0.92,
        0.8,
        0.81,
        0.82,
        0.83,
        0.84,
        0.85,
        0.86,
        0.5,
        0.6,
        0.6,
        0.6,
        0.6,
        0.6,
    ]
    optim = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.5)
    theirs = schedulers.ReduceLROnPlateau(optim, factor=0.5, patience=2, min_lr=0.01)
    ours = lr.ReduceOnPlateau(0.5, factor=0.5, patience=2, min_lr=0.01)
    for value in values:
        theirs.step(value)
        ours.step(paddle.to_tensor(value))
        assert ours() == pytest.approx(optim.param_groups[0]["lr"], rel=1e-12)


def test_plateau_rests_after_a_reduction():
    scheduler = lr.ReduceOnPlateau(1.0, factor=0.5, patience=0, cooldown=2)
    seen = []
    for _ in range(6):
        scheduler.step(1.0)
        seen.append(scheduler())
    assert seen == [1.0, 0.5, 0.5, 0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    "make",
    [
        lambda: lr.StepDecay(0.5, 3),
        lambda: lr.CosineAnnealingDecay(0.5, 9),
        lambda: lr.LinearWarmup(lr.StepDecay(0.5, 2), 4, 0.0, 0.5),
    ],
)
def test_state_continues(make):
    whole = rates(make())
    first, second = make(), make()
    for _ in range(6):
        first.step()
    second.set_state_dict(first.state_dict())
    assert rates(second)[: EPOCHS - 6] == whole[6:]


def test_natural_and_inverse_decay_are_their_formulas():
    epochs = np.arange(EPOCHS)
    np.testing.assert_allclose(rates(lr.NaturalExpDecay(0.5, 0.1)), 0.5 * np.exp(-0.1 * epochs))
    np.testing.assert_allclose(rates(lr.InverseTimeDecay(0.5, 0.1)), 0.5 / (1 + 0.1 * epochs))


def test_one_cycle_ends():
    scheduler = lr.OneCycleLR(0.5, 3)
    for _ in range(3):
        scheduler.step()
    with pytest.raises(ValueError, match="at most total_steps"):
        scheduler.step()


def test_a_foreign_state_is_refused():
    with pytest.raises(ValueError, match="ReduceOnPlateau needs cooldown_counter"):
        lr.ReduceOnPlateau(0.1).set_state_dict(lr.StepDecay(0.1, 2).state_dict())


def test_an_own_schedule_and_a_step_to_a_given_epoch():
    class Sine(lr.LRScheduler):
        def get_lr(self):
            return self.base_lr * (1 + math.sin(self.last_epoch))

    scheduler = Sine(0.1)
    scheduler.step(5)
    assert scheduler() == pytest.approx(0.1 * (1 + math.sin(5)))


def test_verbose_says_what_it_sets(capsys):
    lr.StepDecay(0.5, 1, verbose=True)
    assert capsys.readouterr().out == "Epoch 0: StepDecay set learning rate to 0.5.\n"


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: lr.StepDecay("0.1", 3), TypeError, "learning_rate"),
        (lambda: lr.StepDecay(0.1, 0), ValueError, "step_size"),
        (lambda: lr.StepDecay(0.1, 3, 1.0), ValueError, "gamma"),
        (lambda: lr.StepDecay(-0.1, 3), ValueError, "learning_rate"),
        (lambda: lr.MultiStepDecay(0.1, [3, 1]), ValueError, "milestones"),
        (lambda: lr.ExponentialDecay(0.1, 1.5), ValueError, "gamma"),
        (lambda: lr.CosineAnnealingDecay(0.1, 0), ValueError, "T_max"),
        (lambda: lr.LinearWarmup(0.1, 5, 0.5, 0.1), ValueError, "end_lr"),
        (lambda: lr.PolynomialDecay(0.1, 5, power=0), ValueError, "power"),
        (lambda: lr.PiecewiseDecay([3], [0.1]), ValueError, "values"),
        (lambda: lr.LambdaDecay(0.1, 3), TypeError, "lr_lambda"),
        (lambda: lr.NoamDecay(0, 3), ValueError, "d_model"),
        (lambda: lr.ReduceOnPlateau(0.1, mode="down"), ValueError, "mode"),
    ],
)
def test_bad_settings_are_named(make, error, what):
    with pytest.raises(error, match=what):
        make()
