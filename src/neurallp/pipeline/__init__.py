"""From data to a program: learning, and the programs that result."""
