"""How many cores there are to use."""

import os


def num_cores() -> int:
    """Return the cores this process may use; not every system tells that apart from all there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
