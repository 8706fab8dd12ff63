"""Rules as sentences."""

import pytest

from neurallp import Rule
from neurallp.web.sentences import as_sentence


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            Rule("aunt", ("~son", "sister"), 1.0),
            "If A –son→ X and A –sister→ Y, then X –aunt→ Y is likelier.",
        ),
        (Rule("~aunt", ("niece",), 1.0), "If X –niece→ Y, then Y –aunt→ X is likelier."),
        (Rule("aunt", (), 1.0), "If X is Y, then X –aunt→ Y is likelier."),
        (Rule("aunt", ("son",), 1.0, weight=-1.0), "If X –son→ Y, then X –aunt→ Y is less likely."),
        (
            Rule("aunt", ("aunt",), 1.0, kind="prior", weight=1.0),
            "The more common an answer Y is, the likelier it is.",
        ),
        (
            Rule("aunt", ("aunt",), 1.0, kind="prior", weight=-1.0),
            "The rarer an answer Y is, the likelier it is.",
        ),
        (
            Rule("aunt", (), 1.0, kind="near", weight=1.0),
            "The nearer Y is to X, along facts of any relation, the likelier it is.",
        ),
        (
            Rule("aunt", (), 1.0, kind="near", weight=-1.0),
            "The farther Y is from X, along facts of any relation, the likelier it is.",
        ),
        (
            Rule("~aunt", (), 1.0, kind="linked"),
            "If another fact links X and Y, then Y –aunt→ X is less likely.",
        ),
        (
            Rule("aunt", ("son",), 1.0, kind="unary", answer="eve"),
            "If X –son→ anything, then X –aunt→ eve is likelier.",
        ),
        (
            Rule("aunt", ("~son",), 1.0, kind="unary", answer="eve", body_end="tim"),
            "If tim –son→ X, then X –aunt→ eve is likelier.",
        ),
        (
            Rule("~genre", ("~made by",), 1.0, kind="sourced", source="noir", body_start="tim"),
            "If Y –made by→ tim, then Y –genre→ noir is likelier.",
        ),
        (
            Rule("genre", ("made",), 1.0, weight=-1.0, kind="sourced", source="noir", body_start="tim"),
            "If tim –made→ Y, then noir –genre→ Y is less likely.",
        ),
    ],
)
def test_a_rule_reads_as_a_sentence(rule, sentence):
    assert as_sentence(rule) == sentence
