"""Verdicts on claims: whether a fact is known, likely, unlikely, or unknown."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..errors import ConfigError, UnknownNameError
from ..graph.knowledge_base import Triple
from ..graph.vocabulary import inverse_name, is_inverse, relation_of
from ..rules.rule import atom
from .answers import Proof
from .reasons import Reason

if TYPE_CHECKING:
    from .reasoner import Reasoner

VerdictWord = Literal["true", "likely", "unlikely", "unknown"]

#: A claim is likely from this probability on.
LIKELY = 0.5


@dataclass(frozen=True)
class Verdict:
    """What the facts and the rules say of a claim (head, relation, tail).

    `true`: it is a known fact; `likely` and `unlikely`: its probability is at least `threshold`, or below;
    `unknown`: no rule that predicts alone applies, or a name is not known, as `problem` says. The
    probability of a known fact, and its proof, are those that it would have if it were not known. A claim is
    asked from head to tail and from tail to head, and the verdict is that of the question that finds it more
    likely.
    """

    head: str
    relation: str
    tail: str
    verdict: VerdictWord
    threshold: float
    probability: float | None = None
    proof: Proof | None = None
    problem: str | None = None

    @property
    def claim(self) -> str:
        """The claim as an atom."""
        return atom(self.relation, self.head, self.tail)

    def as_dict(self) -> dict[str, object]:
        """Return the verdict as one JSON object."""
        proof = None if self.proof is None else self.proof.as_dict()
        return {**vars(self), "claim": self.claim, "proof": proof}

    def __str__(self) -> str:
        return f"{self.claim} is {self.verdict}."


def verify(reasoner: "Reasoner", claim: Triple, k: int = 3, threshold: float = LIKELY) -> Verdict:
    """Return the verdict on a claim, with up to `k` reasons for and against it."""
    if not 0 <= threshold <= 1:
        raise ConfigError(f"The threshold is a probability from 0 to 1, got {threshold}.")
    head, relation, tail = claim[::-1] if is_inverse(claim[1]) else claim
    relation = relation_of(relation)
    try:
        entities, number = reasoner.kb.entities, reasoner.relations.id(relation)
        relation = reasoner.relations[number]
        fact = [entities.id(head), number, entities.object_id(tail, relation)]
    except UnknownNameError as error:
        return Verdict(head, relation, tail, "unknown", threshold, problem=str(error))
    head, tail = entities[fact[0]], entities[fact[2]]
    is_known = reasoner.operators.has_edge(*fact)
    if is_known:
        reasoner = reasoner.changed(removed=[(head, relation, tail)])
    proofs = explain_both_ways(reasoner, (head, relation, tail), k)
    proof = max(proofs, key=_belief)
    probability = proof.answer.probability
    word: VerdictWord = "true" if is_known else "unknown"
    problem = None if any(map(_has_rule, proofs)) else "No rule applies to it."
    if not is_known and problem is None:
        if probability is None:
            raise ConfigError("This model gives no probabilities. Run `neurallp calibrate MODEL DATA` first.")
        word = "likely" if probability >= threshold else "unlikely"
    return Verdict(head, relation, tail, word, threshold, probability, proof, problem)


def explain_both_ways(reasoner: "Reasoner", fact: Triple, k: int) -> tuple[Proof, Proof]:
    """Return the proofs of a fact that is not known, asked from head to tail and from tail to head."""
    head, relation, tail = fact
    return reasoner.explain(*fact, k), reasoner.explain(tail, inverse_name(relation), head, k)


def most_likely_proof(reasoner: "Reasoner", fact: Triple, k: int) -> Proof:
    """Return the proof that finds a fact more likely, of the two directions in which it can be asked."""
    return max(explain_both_ways(reasoner, fact, k), key=_belief)


def _belief(proof: Proof) -> float:
    answer = proof.answer
    return answer.score if answer.probability is None else answer.probability


def _has_rule(proof: Proof) -> bool:
    """Return whether any rule that predicts alone is for or against the answer."""
    shown: tuple[Reason, ...] = (*proof.reasons, *proof.against)
    depends = any(not rule.only_orders for reason in shown for rule in reason.rules)
    return depends or any(rest.num != 0 for rest in proof.rests)
