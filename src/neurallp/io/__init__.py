"""What is read from files and written to them; the only place that opens any."""

from ..errors import DataWarning
from .triples import load, read_triples, write_triples

__all__ = ["DataWarning", "load", "read_triples", "write_triples"]
