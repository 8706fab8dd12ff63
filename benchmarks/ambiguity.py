"""What bounds one-hop questions: films of one title are one entity, and a question is about one of the films.

    NEURALLP_DATA=… python benchmarks/ambiguity.py

The relation that a question asks for is taken to be the one that covers most right answers with the fewest
others. Where it leads to more than the right answers the question is open, and something must choose.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from neurallp.experiments import data_folder
from neurallp.io.questions import load_questions
from neurallp.io.triples import read_triples
from neurallp.qa.entity_linking import MARK

FILES = ("train10k", "dev", "test")

Links = Mapping[str, Mapping[str, Sequence[str]]]  # entity, operator: answers in the order of the facts
Open = tuple[str, str, Sequence[str], frozenset[str]]  # entity, operator, what it leads to, what is right


def follow_all(triples: Iterable[tuple[str, str, str]]) -> Links:
    """Return where every operator leads from every entity."""
    links: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for head, relation, tail in dict.fromkeys(triples):
        links[head][relation].append(tail)
        links[tail]["~" + relation].append(head)
    return links


def what_is_asked(right: frozenset[str], operators: Mapping[str, Sequence[str]]) -> str | None:
    """Return the operator that a question asks for, or None where none leads to a right answer."""
    hits = {name: (len(right.intersection(found)), -len(found)) for name, found in operators.items()}
    best = max(hits, key=lambda name: hits[name], default=None)
    return best if best is not None and hits[best][0] else None


def read_asked(path: Path, links: Links) -> Iterator[Open | None]:
    """Yield what each question of a file asks for; None where it cannot be told."""
    for question in load_questions(path):
        mark, right = MARK.search(question.text), frozenset(question.answers)
        entity = mark[1] if mark else ""
        operator = what_is_asked(right, links.get(entity, {}))
        yield None if operator is None else (entity, operator, links[entity][operator], right)


def choosers(links: Links) -> dict[str, Callable[[Sequence[str]], Sequence[str]]]:
    """Return ways to choose among what an operator leads to."""

    def num_facts(name: str) -> int:
        return sum(map(len, links[name].values()))

    return {
        "a draw": lambda found: found,
        "most facts": lambda found: [max(found, key=num_facts)],
        "fewest facts": lambda found: [min(found, key=num_facts)],
        "first told": lambda found: found[:1],
        "last told": lambda found: found[-1:],
    }


def share_right(asked: Iterable[Open | None], choose: Callable[[Sequence[str]], Sequence[str]]) -> float:
    """Return Hits@1 where the right relation is known and `choose` says which of its answers come first."""
    return mean(
        0.0 if each is None else mean(answer in each[3] for answer in choose(each[2])) for each in asked
    )


def main() -> None:
    """Print what each file of WikiMovies leaves open, and how often the same question is answered alike."""
    folder = data_folder()
    links = follow_all(read_triples(folder / "metaqa" / "kb.tsv.gz"))
    answered: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
    for name in FILES:
        asked = list(read_asked(folder / "wikimovies" / f"{name}_1hop.tsv.gz", links))
        left_open = [each for each in asked if each is not None and not each[3].issuperset(each[2])]
        print(f"{name}: {len(left_open):,} of {len(asked):,} questions are open. Hits@1 of all and of these:")
        for how, choose in choosers(links).items():
            print(f"  {how:12} {share_right(asked, choose):.4f}  {share_right(left_open, choose):.3f}")
        for entity, operator, _, right in left_open:
            answered[entity, operator].append(right)
    twice = [rights for rights in answered.values() if len(rights) > 1]
    alike = sum(len(set(rights)) == 1 for rights in twice)
    print(f"Open questions asked more than once: {len(twice):,}; with the same right answers: {alike:,}.")


if __name__ == "__main__":
    main()
