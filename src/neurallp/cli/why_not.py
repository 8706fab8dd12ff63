"""`why-not`: the facts that are missing for an answer to follow."""

from rich.markup import escape

from .options import Data, FactHead, FactRelation, FactTail, Json, Reasons, Source, load_reasoner
from .output import console, print_json


def why_not(
    model: Source,
    data: Data,
    head: FactHead,
    relation: FactRelation,
    tail: FactTail,
    k: Reasons = 5,
    as_json: Json = False,
) -> None:
    """Print the facts whose absence keeps MODEL from a conclusion."""
    found = load_reasoner(model, data).why_not(head, relation, tail, k)
    if as_json:
        print_json(found.as_dict())
    else:
        console.print(escape(str(found)), soft_wrap=True)
