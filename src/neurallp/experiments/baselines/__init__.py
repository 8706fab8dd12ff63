"""What the paper compares with, ranked by our own evaluator: each `fit_…` gives a Scorer for a split."""

from .embeddings import fit_distmult, fit_ntn, fit_transe
from .isg import fit_isg
from .node_link import fit_node_link

__all__ = ["fit_distmult", "fit_isg", "fit_node_link", "fit_ntn", "fit_transe"]
