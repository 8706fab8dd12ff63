"""Model folders."""
