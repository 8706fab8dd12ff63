"""An upper bound for one-hop questions of WikiMovies: films with the same title are one entity.

    NEURALLP_DATA=… python benchmarks/ambiguity.py

The relation of a question is taken to be the one that leads to most right answers and fewest others. If it
leads to more than the right answers the question is ambiguous, and the model has to choose among them.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from report import report

from neurallp.datasets.registry import data_folder
from neurallp.graph.vocabulary import inverse_name
from neurallp.io.questions import load_questions
from neurallp.io.triples import read_triples
from neurallp.qa.entity_linking import MARK

FILES = ("train10k", "dev", "test")

Links = Mapping[str, Mapping[str, Sequence[str]]]  # entity -> operator -> answers, in the order of the facts
Choice = Callable[[Sequence[str]], Sequence[str]]


class Resolved(NamedTuple):
    """A question with its operator."""

    entity: str
    operator: str
    reached: Sequence[str]
    right: frozenset[str]

    @property
    def is_ambiguous(self) -> bool:
        return not self.right.issuperset(self.reached)


def index_links(triples: Iterable[tuple[str, str, str]]) -> Links:
    """Return the answers of every operator for every entity."""
    links: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for head, relation, tail in dict.fromkeys(triples):
        links[head][relation].append(tail)
        links[tail][inverse_name(relation)].append(head)
    return links


def find_operator(right: frozenset[str], operators: Mapping[str, Sequence[str]]) -> str | None:
    """Return the operator of a question, or None if none leads to a right answer."""
    hits = {name: (len(right.intersection(found)), -len(found)) for name, found in operators.items()}
    best = max(hits, key=lambda name: hits[name], default=None)
    return best if best is not None and hits[best][0] else None


def resolve(path: Path, links: Links) -> Iterator[Resolved | None]:
    """Yield each question of a file with its operator, or None if it has none."""
    for question in load_questions(path):
        mark, right = MARK.search(question.text), frozenset(question.answers)
        entity = mark[1] if mark else ""
        operator = find_operator(right, links.get(entity, {}))
        yield None if operator is None else Resolved(entity, operator, links[entity][operator], right)


def choices(links: Links) -> dict[str, Choice]:
    """Return ways to choose among the answers of an operator."""

    def num_facts(name: str) -> int:
        return sum(map(len, links[name].values()))

    return {
        "random": lambda found: found,
        "most facts": lambda found: [max(found, key=num_facts)],
        "fewest facts": lambda found: [min(found, key=num_facts)],
        "first in the facts": lambda found: found[:1],
        "last in the facts": lambda found: found[-1:],
    }


def hits_at_1(questions: Iterable[Resolved | None], choose: Choice) -> float:
    """Return Hits@1 with the right operator, if `choose` selects among its answers."""
    return mean(
        0.0 if each is None else mean(answer in each.right for answer in choose(each.reached))
        for each in questions
    )


def measure_file(
    name: str, questions: Sequence[Resolved | None], links: Links
) -> Iterator[dict[str, object]]:
    """Yield a row for each way to choose."""
    ambiguous = [each for each in questions if each is not None and each.is_ambiguous]
    for how, choose in choices(links).items():
        yield {
            "file": name,
            "questions": len(questions),
            "ambiguous": len(ambiguous),
            "choice": how,
            "hits_at_1": hits_at_1(questions, choose),
            "hits_at_1_of_ambiguous": hits_at_1(ambiguous, choose),
        }


def main() -> None:
    """Print the bound for each file, and how often repeated ambiguous questions have the same answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    links = index_links(read_triples(data_folder() / "metaqa" / "kb.tsv.gz"))
    rows: list[dict[str, object]] = []
    answers: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
    for name in FILES:
        questions = list(resolve(data_folder() / "wikimovies" / f"{name}_1hop.tsv.gz", links))
        rows += measure_file(name, questions, links)
        for each in questions:
            if each is not None and each.is_ambiguous:
                answers[each.entity, each.operator].append(each.right)
    repeated = [found for found in answers.values() if len(found) > 1]
    consistent = sum(len(set(found)) == 1 for found in repeated)
    report(rows, args.json, repeated=len(repeated), repeated_with_equal_answers=consistent)


if __name__ == "__main__":
    main()
