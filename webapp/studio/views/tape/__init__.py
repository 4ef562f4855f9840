"""The page Tape: what the library records, and how it walks back."""
