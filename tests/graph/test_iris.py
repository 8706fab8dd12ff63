"""A name may be given as an IRI, with a declared prefix, or by what follows its namespace."""

import pytest

from neurallp.errors import UnknownNameError
from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.graph.vocabulary import Vocabulary
from neurallp.reasoning.reasoner import Reasoner
from neurallp.rules.rule import Rule

EX = "http://ex.org/club#"
NAMES = Vocabulary([f"{EX}anna", "wd:Q42", f"{EX}hall", "http://ex.org/town/hall", "hall's", "plain"])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (f"{EX}anna", f"{EX}anna"),
        (f"<{EX}anna>", f"{EX}anna"),
        ("ex:anna", f"{EX}anna"),
        ("anna", f"{EX}anna"),
        ("http://www.wikidata.org/entity/Q42", "wd:Q42"),
        ("<http://www.wikidata.org/entity/Q42>", "wd:Q42"),
        ("Q42", "wd:Q42"),
        ("ex:hall", f"{EX}hall"),
        ("town/hall", None),
        ("lain", None),
        ("", None),
    ],
)
def test_a_name_is_found_by_any_of_its_spellings(given, name):
    names = NAMES.with_prefixes({"ex": EX})
    if name is None:
        with pytest.raises(UnknownNameError, match="Unknown entity"):
            names.id(given)
    else:
        assert names[names.id(given)] == name


def test_a_short_name_of_several_is_refused_with_all_of_them():
    told = (
        r"'hall' may be any of 2 entities: http://ex.org/club#hall, http://ex.org/town/hall. Give one in full"
    )
    with pytest.raises(UnknownNameError, match=told):
        NAMES.id("hall")


def test_a_name_that_is_there_stands_for_itself():
    names = Vocabulary(["http://ex.org/hall", "hall"])
    assert names[names.id("hall")] == "hall"


@pytest.fixture
def reasoner():
    facts = [("anna", "memberOf", "chess"), ("chess", "meetsIn", "hall")]
    named = [(f"{EX}{head}", f"{EX}{relation}", f"{EX}{tail}") for head, relation, tail in facts]
    return Reasoner(
        KnowledgeBase.from_triples(named),
        [Rule(f"{EX}goesTo", (f"{EX}memberOf", f"{EX}meetsIn"), 0.8)],
    )


@pytest.mark.parametrize("spell", ["{}", EX + "{}", "<" + EX + "{}>"])
def test_every_question_takes_every_spelling(reasoner, spell):
    anna, goes, hall = map(spell.format, ("anna", "goesTo", "hall"))
    (answer,) = reasoner.ask(head=anna, relation=goes)
    assert (answer.source, answer.entity) == (f"{EX}anna", f"{EX}hall")
    assert reasoner.ask(tail=hall, relation=goes)[0].entity == f"{EX}anna"
    assert reasoner.ask(head=hall, relation="~" + goes)[0].entity == f"{EX}anna"
    assert reasoner.explain(anna, goes, hall).answer.score == pytest.approx(0.8)
    assert reasoner.why_not(anna, goes, hall).follows
    member = spell.format("memberOf"), spell.format("chess")
    assert reasoner.verify(anna, *member).verdict == "true"
    assert not reasoner.changed(removed=[(anna, *member)]).ask(head=anna, relation=goes)
    assert reasoner.find_entities(anna)[0].name == f"{EX}anna"
