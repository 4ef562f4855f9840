"""The page Embeddings: vectors of words, and of films and people, that are learned while one watches."""
