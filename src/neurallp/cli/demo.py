"""`demo`: a family's rules learned, one question answered and proved."""

from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from .options import Json
from .output import console, marked_rules_table, measures_table, print_json

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase, Split
    from ..pipeline.program import Program
    from ..reasoning.answers import Proof
    from ..rules.rule import Rule, RuleSet

SHOWN = ("uncle", "grandmother", "sister", "husband", "nephew")


class Story(StrEnum):
    """What a demonstration is about."""

    family = "family"
    questions = "questions"


def demo(
    history_of: Annotated[
        Story, typer.Argument(help="A family's rules, or questions about films.")
    ] = Story.family,
    people: Annotated[int, typer.Option(help="Size of the family, over four generations.")] = 240,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another family.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn the rules of a made-up family, or questions about films."""
    if history_of is Story.questions:
        from .question_demo import show_questions

        show_questions(seed, as_json)
    else:
        _show_family(people, seed, as_json)


def _show_family(people: int, seed: int, as_json: bool) -> None:
    from ..datasets.family import family_knowledge_base
    from ..graph.knowledge_base import split_triples

    kb = family_knowledge_base(people, seed=seed)
    split = split_triples(kb, seed)
    if not as_json:
        console.print(_introduce(kb))
    program = _learn(split, seed, as_json)
    rules = program.rules(limit=4, min_confidence=0.1)
    proof = _prove_unseen(program, split)
    metrics = {"test": program.evaluate(split).as_dict()}
    if as_json:
        print_json({"rules": [_described(rule) for rule in rules], "proof": proof.as_dict(), **metrics})
        return
    _show(rules, proof, metrics)


def _learn(split: "Split", seed: int, quiet: bool) -> "Program":
    from ..config import configure
    from ..pipeline.learn import finish, prepare
    from .learn import watch

    # Longer steps than usual, and fewer: a visitor should not have to wait.
    training = prepare(split, *configure(seed=seed, num_epochs=8, learning_rate=0.005))
    for _ in watch(training, quiet):
        pass
    return finish(training)


def _introduce(kb: "KnowledgeBase") -> str:
    sizes = f"{len(kb.entities):,} people, {len(kb.relations)} relations, {len(kb.facts):,} facts"
    return f"A made-up family: {sizes}. A fifth of the facts is kept back to judge by."


def _prove_unseen(program: "Program", split: "Split") -> "Proof":
    """Return the proof of a fact kept back: an uncle if there is one, ranked first if there is one."""
    reasoner = program.reasoner()
    names, relations = split.entities, split.relations
    uncles = sorted(split.test.tolist(), key=lambda fact: relations[fact[1]] != "uncle")
    proofs = (reasoner.explain(names[head], relations[r], names[tail]) for head, r, tail in uncles)
    first = next(proofs)
    return next((proof for proof in chain([first], proofs) if proof.answer.rank == 1), first)


def _described(rule: "Rule") -> dict[str, Any]:
    return rule.as_dict() | {"is_true": _is_true(rule)}


def _is_true(rule: "Rule") -> bool:
    from ..datasets.family import is_true_by_definition

    return is_true_by_definition(rule.target, rule.body)


def _show(rules: "RuleSet", proof: "Proof", metrics: dict[str, Any]) -> None:
    from ..rules.rule import RuleSet

    shown = RuleSet(rule for target in SHOWN for rule in rules.about(target) if not rule.is_vacuous)
    marks = ["[green]true[/]" if _is_true(rule) else "[yellow]guess[/]" for rule in shown]
    console.print(
        f"\n[bold]Rules it found[/] ({len(shown)} of {len(rules)}; true: in every family, guess: not in all)"
    )
    console.print(marked_rules_table(shown, marks))
    answer = proof.answer
    console.print(
        f"\n[bold]Who is {answer.source}'s {answer.query}?[/] Nobody told it. It says {answer.entity}:"
    )
    console.print(escape(str(proof)))
    console.print("\n[bold]How often it is right[/] on the facts kept back")
    console.print(measures_table(metrics))
