"""Weighted rules: mining candidates, features, and fitting weights by cross-entropy."""
