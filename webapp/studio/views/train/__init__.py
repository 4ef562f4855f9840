"""The page Train: a network trained in the visitor's kernel."""
