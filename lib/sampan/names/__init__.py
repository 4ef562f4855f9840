"""What only programs with rarely used names of Paddle need, by the module in which Paddle has it;
`modules.txt` is the table of all of Paddle's modules (see `sampan.inner`)."""
