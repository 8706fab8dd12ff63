"""The pages: each takes the explorer and the parameters of an address, and returns what it shows."""
