"""Evidence for known facts, each scored as if it alone were not known."""

from collections.abc import Iterator

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from .calibration_sample import CLIP, Evidence, log_odds, sharpen, sharpened_sums
from .evidence import GraphEvidence
from .scorers.weighted import WeightedScorer


class MaskedEvidence:
    """The evidence for facts of one query with weighted rules; no graph is built for any of them.

    The scores of a question are those of a question without rules but for the entities that rules reach. So
    the sums that normalised scores are fractions of are updated from the former for these entities alone.
    """

    def __init__(self, scorer: WeightedScorer, evidence: GraphEvidence) -> None:
        self.scorer, self.graph = scorer, evidence

    def of(self, sources: Ids, query: int, answers: Ids) -> tuple[Evidence, Floats]:
        """Return the evidence for known facts of a query, and their scores."""
        rows = list(self._amounts(sources, query, answers))
        own, of_known, of_others, scores = (np.array(column) for column in zip(*rows, strict=True))
        num_known = np.bincount(self._known(sources, query, answers)[0], minlength=len(sources))
        total = of_known + of_others[:, 0]
        share = np.divide(of_others[:, 0], total, out=np.zeros_like(total), where=total > 0)
        unknown = np.where(num_known > 0, np.log(np.maximum(share, CLIP)), 0.0)
        domain = np.where(num_known > 0, 0.0, self.graph.domains.log_odds_without(sources, query, answers))
        shares = log_odds(np.divide(own, of_others, out=np.zeros_like(own), where=of_others > 0))
        return Evidence(np.full(len(sources), query), num_known, shares, unknown, domain), scores

    def _known(self, sources: Ids, query: int, answers: Ids) -> tuple[Ids, Ids]:
        """Return the other known answers of each source, as pairs of row and entity."""
        rows, entities = self.graph.known.pairs(sources, np.full(len(sources), query))
        others = entities != answers[rows]
        return rows[others], entities[others]

    def _amounts(
        self, sources: Ids, query: int, answers: Ids
    ) -> Iterator[tuple[Floats, float, Floats, float]]:
        """Yield of each fact the exponential of its score, the sums of those of others, and the score.

        The first and the third are sharpened.
        """
        default = self.scorer.default_scores(query)
        top = max(float(default.max()), 0.0)
        rest = np.exp(default - top)
        total = sharpened_sums(rest)
        is_no_candidate = self.scorer.excluded.has_without(sources, query, answers)
        known = _by_row(self._known(sources, query, answers), len(sources))
        excluded = _by_row(self.scorer.excluded.pairs(sources, query), len(sources))
        stamps, kinds = np.zeros(len(default), dtype=np.int64), np.zeros(len(default), dtype=np.int8)
        for i, (touched, row) in enumerate(self.scorer.masked_rows(sources, query, answers)):
            kinds[known[i]] = KNOWN
            kinds[excluded[i]] = EXCLUDED
            kinds[answers[i]] = EXCLUDED if is_no_candidate[i] else OTHER
            listed = np.concatenate([touched, known[i], excluded[i]])
            entities = listed[_first(listed, stamps)]
            kind, scores = kinds[entities], row[entities]
            highest = max(top, float(scores.max()))
            amounts = np.exp(scores - highest)
            left = np.maximum(total - sharpened_sums(rest[entities]), 0.0) * sharpen(np.exp(top - highest))
            kinds[entities] = OTHER
            score = -np.inf if is_no_candidate[i] else float(row[answers[i]])
            others = left + sharpened_sums(amounts[kind == OTHER])
            yield sharpen(np.exp(score - highest)), float(amounts[kind == KNOWN].sum()), others, score


#: What an entity is to a question: a candidate that is not known, a known answer, or no candidate.
OTHER, KNOWN, EXCLUDED = 0, 1, 2


def _first(entities: Ids, stamps: Ids) -> Flags:
    """Return which places have an entity that no later place has; `stamps` is working memory."""
    places = np.arange(len(entities))
    stamps[entities] = places
    return np.asarray(stamps[entities] == places)


def _by_row(pairs: tuple[Ids, Ids], num_rows: int) -> list[Ids]:
    """Return the entities of each row."""
    order = np.argsort(pairs[0], kind="stable")
    return np.split(pairs[1][order], np.searchsorted(pairs[0][order], np.arange(1, num_rows)))
