"""The page "Deploy": a network becomes a file, and each step is seen and measured."""
