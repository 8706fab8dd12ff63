"""The paper's figure of section 4.4: question vectors projected by t-SNE, coloured by rule."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import ConfigError, QuestionError
from ..graph.knowledge_base import KnowledgeBase
from ..pipeline.questions import QuestionProgram
from ..plots import figure_at, styles
from ..qa.answering import QuestionReasoner
from ..qa.examples import WordQuestion
from ..rules.rule import Rule, atom

MAX_RULES = 12  # with a colour and a label of their own


def draw_questions(projected: Sequence[tuple[float, float, str]], path: Path) -> None:
    """Draw questions, given as (x, y, rule); each cluster is labelled by its rule."""
    positions = np.array([(x, y) for x, y, _ in projected])
    rules = [rule for *_, rule in projected]
    frequent = [rule for rule, _ in Counter(rules).most_common(MAX_RULES)]
    with figure_at(path, 9, 7) as figure:
        axes = figure.subplots()
        rest = positions[[rule not in frequent for rule in rules]]
        axes.scatter(rest[:, 0], rest[:, 1], s=6, color="lightgray")
        for rule, style in zip(frequent, styles(), strict=False):
            mine = positions[[other == rule for other in rules]]
            axes.scatter(mine[:, 0], mine[:, 1], s=12, color=style["color"], marker=style["marker"])
            axes.annotate(rule, np.median(mine, axis=0), fontsize=7, ha="center")
        axes.set(xticks=[], yticks=[], title=f"{len(rules)} questions, by the rule they use")


def project_questions(
    program: QuestionProgram, kb: KnowledgeBase, questions: Sequence[WordQuestion], seed: int = 0
) -> tuple[NDArray[np.floating], list[str]]:
    """Return the t-SNE position of each question, and the rule it uses."""
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ConfigError("The picture needs more: pip install 'neurallp[plots]'.") from error
    reasoner = program.reasoner(kb)
    interpretations = [reasoner.parser.interpreter.interpret(question.text)[0] for question in questions]
    with torch.no_grad():
        vectors = program.model.encode([each.phrase for each in interpretations]).numpy()
    # Questions of the same wording have equal vectors: a little noise makes each visible.
    vectors = vectors + np.random.default_rng(seed).normal(0, 0.02 * vectors.std(), vectors.shape)
    perplexity = min(30.0, (len(vectors) - 1) / 3)
    positions = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(vectors)
    return positions, [_label(_rule_used(reasoner, question.text)) for question in questions]


def _rule_used(reasoner: QuestionReasoner, text: str) -> Rule:
    """Return the rule of the best answer, or the most confident rule where there is no answer."""
    try:
        return reasoner.ask(text, 1, min_probability=0.0)[0].rule
    except QuestionError:
        first = reasoner.parser.interpreter.interpret(text)[0]
        return reasoner.rules(first.source, first.phrase)[0]


def _label(rule: Rule) -> str:
    variables = ["X", *"ABCDEFGH"[: len(rule.body) - 1], "Y"]
    links = zip(rule.body, variables, variables[1:], strict=False)
    return ", ".join(atom(*link) for link in links)
