"""`demo`: a family's rules learned, one question answered and proved."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import Json
from .printing import console, measures_table, print_json, rules_table, say

if TYPE_CHECKING:
    from ..knowledge import Split
    from ..program import Program
    from ..reasoning import Proof
    from ..rules import Rule, RuleSet

SHOWN = ("uncle", "grandmother", "sister", "husband", "nephew")


def demo(
    seed: Annotated[int, typer.Option(help="Another seed, another family.")] = 0, as_json: Json = False
) -> None:
    """Learn the rules of a made-up family, answer one question and prove it."""
    from ..datasets.family import family_knowledge_base
    from ..knowledge import split_triples

    kb = family_knowledge_base(seed=seed)
    split = split_triples(kb, seed)
    if not as_json:
        say(f"A made-up family: {kb}. A fifth of the facts is kept back to judge by.")
    program = _learn(split, seed, as_json)
    rules = program.rules(limit=4, min_confidence=0.1)
    proof = _prove_unseen(program, split)
    metrics = {"test": program.evaluate(split).as_dict()}
    if as_json:
        print_json({"rules": [_described(rule) for rule in rules], "proof": proof.as_dict(), **metrics})
        return
    _show(rules, proof, metrics)


def _learn(split: "Split", seed: int, quiet: bool) -> "Program":
    from ..program import configure, finish, prepare
    from .learning import watch

    training = prepare(split, *configure(seed=seed))
    for _ in watch(training, quiet):
        pass
    return finish(training)


def _prove_unseen(program: "Program", split: "Split") -> "Proof":
    """Return the proof of the first kept-back uncle that the rules rank first."""
    reasoner = program.reasoner()
    names, relations = split.entities, split.relations
    for head, relation, tail in split.test:
        if relations[relation] == "uncle":
            proof = reasoner.explain(names[head], "uncle", names[tail])
            if proof.answer.rank == 1:
                break
    return proof


def _described(rule: "Rule") -> dict[str, Any]:
    return rule.as_dict() | {"is_true": _is_true(rule)}


def _is_true(rule: "Rule") -> bool:
    from ..datasets.family import is_true_by_definition

    return is_true_by_definition(rule.target, rule.body)


def _show(rules: "RuleSet", proof: "Proof", metrics: dict[str, Any]) -> None:
    from ..rules import RuleSet

    shown = RuleSet(rule for target in SHOWN for rule in rules.about(target))
    marks = ["[green]true[/]" if _is_true(rule) else "[yellow]approximation[/]" for rule in shown]
    console.print("\n[bold]Rules it found[/] (of", len(rules), "in all)", highlight=False)
    console.print(rules_table(shown, marks))
    answer = proof.answer
    console.print(f"\n[bold]Who is {answer.source}'s uncle?[/] Nobody told it; it says: {answer.entity}.")
    console.print(str(proof), highlight=False)
    console.print("\n[bold]How often it is right[/] on the facts kept back")
    console.print(measures_table(metrics))
