"""`demo`: learn the rules of a family, answer one question and explain the answer."""

from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .options import Json
from .output import console, have_distinct_ends, marked_rules_table, measures_table, print_json, print_proof
from .serve import Browser, Port, start

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase, Split
    from ..pipeline.program import LearnedProgram
    from ..reasoning.answers import Proof
    from ..rules.rule import Rule, RuleSet

#: The queries whose rules are printed, and how many of each.
SHOWN = ("uncle", "grandmother", "sister", "husband", "nephew")
NUM_SHOWN = 3


Topic = Literal["family", "questions"]


def demo(
    topic: Annotated[Topic, typer.Argument(help="A family's rules, or questions about films.")] = "family",
    people: Annotated[int, typer.Option(help="Size of the family, over four generations.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another family.")] = 0,
    serve: Annotated[bool, typer.Option("--serve", help="Explore the family in the browser.")] = False,
    port: Port = 8000,
    browser: Browser = True,
    as_json: Json = False,
) -> None:
    """Learn a generated family's rules, or questions on films."""
    if topic == "questions":
        from .question_demo import show_questions

        show_questions(seed, as_json)
    elif serve:
        _serve_family(people, seed, port, browser)
    else:
        _show_family(people, seed, as_json)


def _serve_family(people: int, seed: int, port: int, browser: bool) -> None:
    """Learn the rules of a family, and explore them."""
    from ..datasets.family import family_knowledge_base
    from ..errors import import_extra
    from ..graph.knowledge_base import split_triples

    import_extra("fastapi", "web")
    from ..web.explorer import Explorer

    split = split_triples(family_knowledge_base(people, seed=seed), seed)
    program = _learn(split, seed, quiet=False)
    metrics = {"test": program.evaluate(split).as_dict()}
    start(
        Explorer(program, split, metrics, "A generated family"),
        port=port,
        host="127.0.0.1",
        token=False,
        browser=browser,
    )


def _show_family(people: int, seed: int, as_json: bool) -> None:
    from ..datasets.family import family_knowledge_base
    from ..graph.knowledge_base import split_triples

    kb = family_knowledge_base(people, seed=seed)
    split = split_triples(kb, seed)
    if not as_json:
        console.print(_introduce(kb))
    program = _learn(split, seed, as_json)
    rules = program.rules(limit=20, min_share=0.1)
    proof = _prove_unseen(program, split)
    metrics = {"test": program.evaluate(split).as_dict()}
    if as_json:
        print_json({"rules": [_described(rule) for rule in rules], "proof": proof.as_dict(), **metrics})
        return
    _show(rules, proof, metrics)


def _learn(split: "Split", seed: int, quiet: bool) -> "LearnedProgram":
    """Learn as `neurallp learn` does, without a trial of the neural model, which it rejects here."""
    from ..pipeline.learn import learn
    from .callbacks import ShownProgress

    with ShownProgress(quiet=quiet) as callbacks:
        return learn(split, train=False, seed=seed, callbacks=callbacks)


def _introduce(kb: "KnowledgeBase") -> str:
    sizes = f"{len(kb.entities):,} people, {len(kb.relations)} relations, {len(kb.facts):,} facts"
    return f"A generated family: {sizes}. A fifth of the facts is held out."


def _prove_unseen(program: "LearnedProgram", split: "Split") -> "Proof":
    """Return the proof of a held-out fact: about an uncle and ranked first, where there is such a fact."""
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


def _best(rules: "RuleSet") -> "list[Rule]":
    """Return the chains of positive weight with the largest measured confidence."""
    chains = [rule for rule in rules if rule.kind == "chain" and not rule.is_vacuous]
    positive = [rule for rule in chains if (rule.weight or 0.0) > 0]
    return sorted(positive, key=lambda rule: -(rule.measured_confidence or 0.0))[:NUM_SHOWN]


def _show(rules: "RuleSet", proof: "Proof", metrics: dict[str, Any]) -> None:
    from ..rules.rule import RuleSet

    shown = RuleSet(rule for target in SHOWN for rule in _best(rules.about(target)))
    marks = ["[green]true[/]" if _is_true(rule) else "[yellow]guess[/]" for rule in shown]
    shared = ", each with X != Y" if have_distinct_ends(shown) else ""
    console.print(
        f"\n[bold]Rules learned[/] ({len(shown)} of {len(rules)}{shared}; true: in every family, guess: not)"
    )
    console.print(marked_rules_table(shown, marks))
    answer = proof.answer
    console.print(
        f"\n[bold]Who is {answer.source}'s {answer.query}?[/] It is not in the facts. Answer: {answer.entity}"
    )
    print_proof(proof, fold=True)
    console.print("\n[bold]Ranks[/] of the answers of held-out facts")
    console.print(measures_table(metrics))
