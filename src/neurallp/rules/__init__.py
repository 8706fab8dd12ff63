"""Rules: their form (eq. 1), extraction from attention (algorithm 1), support, simplification."""
