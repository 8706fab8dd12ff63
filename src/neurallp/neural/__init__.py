"""The neural model: objective, training and optimizer."""
