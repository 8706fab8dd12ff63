"""Graphs larger than memory: packed triples and rules applied by a query engine."""
