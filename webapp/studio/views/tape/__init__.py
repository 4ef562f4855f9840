"""The page Tape: the operators that the library records, forward and backward."""
