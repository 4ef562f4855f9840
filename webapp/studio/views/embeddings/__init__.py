"""The page Embeddings: vectors of words, and of films and people, trained live."""
