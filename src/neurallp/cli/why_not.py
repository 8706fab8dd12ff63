"""`why-not`: the facts that are missing for an answer to follow."""

from .options import Data, FactHead, FactRelation, FactTail, Json, Reasons, Source, load_reasoner
from .output import print_json, print_line, show_probability


def why_not(
    model: Source,
    data: Data,
    head: FactHead,
    relation: FactRelation,
    tail: FactTail,
    k: Reasons = 5,
    as_json: Json = False,
) -> None:
    """Print the facts that MODEL lacks to conclude a fact."""
    found = load_reasoner(model, data).why_not(head, relation, tail, k)
    if as_json:
        print_json(found.as_dict())
    else:
        print_line(str(found))
        if found.follows and found.answer.probability is not None:
            print_line(f"Its probability is {show_probability(found.answer.probability)}.")
