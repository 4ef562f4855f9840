"""The page Graph: see a graph, its samples and messages, train on it, walk its types, watch a stream of ratings."""
