"""What Paddle keeps under `incubate`: derivatives of functions."""

from . import autograd as autograd
