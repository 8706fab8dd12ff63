"""The number of processor cores to use."""

import os


def num_cores() -> int:
    """Return the cores that this process may use; on some systems only the number of all is known."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
