"""`demo questions`: learns from questions about generated films and their answers, then answers new ones."""

from typing import TYPE_CHECKING

from .output import console, markup, print_json, question_measures_table
from .qa import show_answers

if TYPE_CHECKING:
    from ..qa.examples import WordQuestion


def show_questions(seed: int, as_json: bool) -> None:
    """Learn from questions with answers, then answer and evaluate questions that were not among them."""
    from ..datasets.movies import movie_questions, movies_knowledge_base
    from ..pipeline.questions import learn_questions
    from .callbacks import ShownProgress

    kb = movies_knowledge_base(seed=seed)
    train, test = movie_questions(kb, 2000, seed), movie_questions(kb, 400, seed + 1)
    if not as_json:
        console.print(
            f"Generated films: {len(kb.entities):,} entities, {len(kb.facts):,} facts; "
            f"{len(train):,} questions with their answers, without any mark of the relation asked for."
        )
    with ShownProgress(quiet=as_json) as callbacks:
        program = learn_questions(kb, train, seed=seed, num_epochs=6, callbacks=callbacks)
    found = program.evaluate(test)
    asked = [program.ask_words(question.unmarked.text, 3) for question in one_of_each_length(test)]
    if as_json:
        print_json({"answers": [each.as_dict() for each in asked], "test": found.as_dict()})
        return
    for each in asked:
        console.print(f"\n[bold]{markup(each.question)}?[/]", soft_wrap=True)
        show_answers(each)
    console.print("\n[bold]Measures[/] on questions that training has not seen")
    console.print(question_measures_table({"entity marked": found.marked, "entity linked": found.linked}))


def one_of_each_length(questions: "list[WordQuestion]") -> "list[WordQuestion]":
    """Return the first question of one, two and three steps."""
    by_length = {len((question.kind or "").split()): question for question in reversed(questions)}
    return [by_length[length] for length in sorted(by_length)]
