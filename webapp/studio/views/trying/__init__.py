"""The page behind "Try it" of Models: a form for each kind of input."""
