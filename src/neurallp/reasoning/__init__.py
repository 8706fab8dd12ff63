"""Answers with proofs, from a neural model, weighted rules or given rules."""
