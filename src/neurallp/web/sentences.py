"""Rules as sentences, in words that hold whatever a relation means."""

from ..graph.vocabulary import is_inverse, relation_of
from ..rules.rule import Rule


def as_sentence(rule: Rule) -> str:
    """Return what a rule says.

    >>> as_sentence(Rule("uncle", ("father", "brother"), 0.9))
    'If X –father→ A and A –brother→ Y, then X –uncle→ Y is likelier.'
    """
    then = "less likely" if rule.is_against else "likelier"
    if rule.ignores_source:
        return f"The {'rarer' if rule.is_against else 'more common'} an answer Y is, the likelier it is."
    if rule.kind == "linked":
        return f"If another fact links X and Y, then {_link(rule.target, 'X', 'Y')} is {then}."
    if rule.names_no_relation:
        way = "farther Y is from X" if rule.is_against else "nearer Y is to X"
        return f"The {way}, along facts of any relation, the likelier it is."
    if rule.answer is not None:
        concluded = _link(rule.target, "X", rule.answer)
        return f"If {_link(rule.body[0], 'X', rule.body_end or 'anything')}, then {concluded} is {then}."
    if rule.source is not None:
        concluded = _link(rule.target, rule.source, "Y")
        return f"If {_link(rule.body[0], str(rule.body_start), 'Y')}, then {concluded} is {then}."
    links = zip(rule.body, rule.variables, rule.variables[1:], strict=False)
    given = " and ".join(_link(*link) for link in links) or "X is Y"
    return f"If {given}, then {_link(rule.target, 'X', 'Y')} is {then}."


def _link(operator: str, source: str, answer: str) -> str:
    head, tail = (answer, source) if is_inverse(operator) else (source, answer)
    return f"{head} –{relation_of(operator)}→ {tail}"
