"""Paddle's module `fleet.meta_parallel`: networks that are cut over processes."""

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are names of this one
