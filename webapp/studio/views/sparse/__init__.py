"""The page Sparse: what sparse and dense cost on a matrix, and a network on a point cloud."""
