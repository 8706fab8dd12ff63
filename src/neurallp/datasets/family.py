"""Family trees over several generations, whose true rules are known.

A fact father(anna, bob) means that anna's father is bob. The families are simple, so true rules are short:

- founder couples start unrelated families; later generations marry across them;
- everybody marries at most once, within the same generation, and never a sibling or a cousin;
- children belong to both of a couple, and only couples have children, so there are no half-siblings;
- relatives are by blood: an uncle is a parent's brother, not the husband of an aunt;
- some people stay unmarried, some couples childless, some children without siblings.

The tree gives the relations in `BASE`; `DEFINITIONS` defines all others as chains.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random

from ..errors import ConfigError, UnknownNameError
from ..graph.knowledge_base import KnowledgeBase
from ..graph.vocabulary import inverse_name, relation_of

Triple = tuple[str, str, str]
Pair = tuple[str, str]  # source, answer
Body = tuple[str, ...]
Links = defaultdict[str, defaultdict[str, set[str]]]  # operator -> source -> answers

BASE = ("father", "mother", "husband", "wife", "son", "daughter")

#: Relation -> the bodies that define it; a person is never their own relative. Later ones use earlier ones.
DEFINITIONS: dict[str, tuple[Body, ...]] = {
    "brother": (("father", "son"), ("mother", "son")),
    "sister": (("father", "daughter"), ("mother", "daughter")),
    "uncle": (("father", "brother"), ("mother", "brother")),
    "aunt": (("father", "sister"), ("mother", "sister")),
    "nephew": (("brother", "son"), ("sister", "son")),
    "niece": (("brother", "daughter"), ("sister", "daughter")),
    "cousin": (("uncle", "son"), ("uncle", "daughter"), ("aunt", "son"), ("aunt", "daughter")),
    "grandfather": (("father", "father"), ("mother", "father")),
    "grandmother": (("father", "mother"), ("mother", "mother")),
    "grandson": (("son", "son"), ("daughter", "son")),
    "granddaughter": (("son", "daughter"), ("daughter", "daughter")),
}

RELATIONS = (*BASE, *DEFINITIONS)

MAX_PEOPLE = 20_000  # there are names for more of either sex
SHARE_MARRYING = 0.85

DIED_OUT = (
    "The families died out: with {:,} people in {} generations, one generation has no couples that are "
    "not related. Use more people (about 40 for each generation), fewer generations or another seed."
)

#: (people, generations) of the families on which a rule is checked.
CHECKED_ON = ((150, 3), (200, 4), (250, 5), (300, 6))

# Given names that are rarely English words, so that questions in words are easy to read.
MALE_NAMES = """
    aaron abdul adam adrian ahmed akira alan albert aldo alexei alfred ali alvaro anders andrei angus
    anton antonio aram arjun armin arthur arvid asher attila axel baldur bartek bela benedict benjamin
    bernard bilal bob bogdan boris bruno callum carl carlos caspar cedric cesar chidi christoph claude
    conrad cormac cyrus dag damian daniel darius david declan demetri denis dieter dmitri domenico duncan
    edgar eduardo edwin egon eino elias emil emre enrique enzo erik ernst esteban ethan eugene fabian
    farid felix ferdinand fergus fernando filip florian francis frederik fritz gabriel gareth gaston
    geoffrey george gerard gilbert giovanni goran gregor guido gunnar gustav hakan hamid hans harald
    hassan henrik herbert hiroshi hugo hussein ian ibrahim igor ilya imre isaac ismail ivan jacob jamal
    james jan javier jerome jin joachim johan jonas jorge joseph juan julian kaito karim kazuo keith kenji
    klaus kofi kwame lars laszlo leif leo leonid lionel lorenzo louis luca ludwig magnus malik manuel
    marco marius martin mateo matthias maurice mehmet miguel mikhail milan mohammed moses murad nathan
    nelson niall nikolai nils noah oleg oliver omar orlando oscar osman otto owen pablo paolo patrick
    pavel pedro percival peter philip pierre quentin rafael rahul rajesh ramon rashid raymond reinhard
    ricardo roberto roland rudolf rupert salim samuel sanjay santiago sebastian sergei simon stefan sven
    takeshi tariq theodor thomas tobias tomasz ulrich umberto valentin vasily victor vikram vincent
    vladimir walter wei werner wilhelm wolfgang xavier yannis yusuf zoltan
"""

FEMALE_NAMES = """
    abigail ada adele agatha agnes aisha akiko alba alexandra alice alina alma amalia amara amelia amina
    ana anastasia andrea angela anita anja anna annika antonia anya ariadne asta astrid aurora ayesha
    ayumi barbara beatrice belinda berta bianca birgit bridget brigitte britta camila carla carmen
    carolina catalina cecilia chiara chloe christina clara claudia colette consuelo cordelia cornelia
    dagmar dalia daniela daphne deborah deirdre delphine denise diana dolores dominika dora doris dorothea
    ebba edith eleanor elena elif elisa elizabeth elke ella elsa elvira emilia emma erika esmeralda esther
    eugenia eva evelyn fatima felicia fernanda fiona flavia florence francesca freya frida gabriela galina
    georgia gerda gertrud giovanna gisela greta guadalupe gudrun gwendolyn hanna harriet hedwig heidi
    helena helga henrietta hilda hiroko ida ilse imani inga ingrid irena irma isabel isolde ivana
    jacqueline jamila jana jane janina jasmina johanna josephine judith julia juliana jutta kamala karin
    katarina keiko kerstin khadija kirsten lakshmi larisa laura layla leila lena leonora letizia lidia lin
    linda linnea lisbeth livia lorena louise lucia lucinda ludmila luisa lydia magdalena maja malin
    manuela margaret maria mariam marianne marisol marta martina mathilda maud mei melina mercedes michiko
    mila minna miranda miriam mona monika nadia naomi natasha nina noor nora octavia odette olga olivia
    ottilie paloma pamela patricia paula pauline penelope petra philippa pilar priya rachel ramona raquel
    rebecca regina renata rita roberta rosa rosalind roxana ruth sabina salma samira sandra sara selma
    shanti sigrid silvia simone sofia solveig sonja stella susanna svetlana tabitha tamara tatiana teresa
    thea thelma tove ulrike ursula valentina vera verena veronika victoria virginia wanda wilhelmina
    winifred xenia yasmin yoko yvonne zainab zelda zenobia zofia
"""


@dataclass(frozen=True, eq=False)
class Person:
    """One person of a tree; founders have no parents."""

    name: str
    male: bool
    parents: "tuple[Person, ...]" = ()  # father, mother

    def elders(self) -> "set[Person]":
        """Return the parents and grandparents."""
        return {elder for parent in self.parents for elder in (parent, *parent.parents)}

    def is_kin(self, other: "Person") -> bool:
        """Return whether another person of the same generation is a sibling or a cousin."""
        return not self.elders().isdisjoint(other.elders())


Couple = tuple[Person, Person]  # husband, wife


def family_knowledge_base(num_people: int = 240, num_generations: int = 4, seed: int = 0) -> KnowledgeBase:
    """Return the knowledge base of all facts of generated families.

    >>> family_knowledge_base()
    KnowledgeBase(240 entities, 17 relations, 4,424 facts)
    """
    return KnowledgeBase.from_triples(family_triples(num_people, num_generations, seed))


def family_triples(num_people: int = 240, num_generations: int = 4, seed: int = 0) -> list[Triple]:
    """Return every fact of generated families, sorted; the same seed gives the same facts."""
    links = _family_links(num_people, num_generations, seed)
    return sorted(
        (head, relation, tail)
        for relation in RELATIONS
        for head, tails in links[relation].items()
        for tail in tails
    )


def is_true_by_definition(target: str, body: Iterable[str]) -> bool:
    """Return whether `target <= body` holds in every family that can be generated; `~` marks inverses.

    Tested, not proven: the body is followed from each person of several complete families,
    and every answer must be a fact of the target. The source itself does not count as an answer, since
    nobody is their own relative; a body that leads nowhere else predicts nothing and is not called true.

    >>> is_true_by_definition("uncle", ("father", "brother"))
    True
    >>> is_true_by_definition("uncle", ("grandfather", "son"))  # or the father himself
    False
    """
    body = tuple(body)
    for operator in (target, *body):
        _check_operator(operator)
    return target in _true_targets(body)


def _check_operator(operator: str) -> None:
    name = relation_of(operator)
    if name not in RELATIONS:
        raise UnknownNameError.among("relation", name, RELATIONS, "The family")


@cache
def _true_targets(body: Body) -> frozenset[str]:
    """Return the operators that hold between source and answer of every path along `body`."""
    none: frozenset[str] = frozenset()
    related = (
        operators_of.get(pair, none)
        for links, operators_of in _checked_families()
        for pair in _predict(links, body)
    )
    common = next(related, none)
    for operators in related:
        common &= operators
        if not common:
            break
    return common


@cache
def _checked_families() -> list[tuple[Links, dict[Pair, frozenset[str]]]]:
    """Return the families to check rules on, each with the operators that hold between two people."""
    families = [_family_links(*size, seed) for seed, size in enumerate(CHECKED_ON)]
    return [(links, _operators_of_pairs(links)) for links in families]


def _operators_of_pairs(links: Links) -> dict[Pair, frozenset[str]]:
    pairs: defaultdict[Pair, set[str]] = defaultdict(set)
    for operator, answers_of in links.items():
        for source, answers in answers_of.items():
            for answer in answers:
                pairs[source, answer].add(operator)
    return {pair: frozenset(operators) for pair, operators in pairs.items()}


def _family_links(num_people: int, num_generations: int, seed: int) -> Links:
    """Return the complete facts of a family, in both directions."""
    people, couples = _grow_tree(num_people, num_generations, Random(seed))
    links: Links = defaultdict(lambda: defaultdict(set))
    for head, relation, tail in _base_facts(people, couples):
        _add(links, head, relation, tail)
    for relation, bodies in DEFINITIONS.items():
        for body in bodies:
            for head, tail in _predict(links, body):
                _add(links, head, relation, tail)
    return links


def _base_facts(people: list[Person], couples: list[Couple]) -> Iterator[Triple]:
    for husband, wife in couples:
        yield husband.name, "wife", wife.name
        yield wife.name, "husband", husband.name
    for person in people:
        for parent in person.parents:
            yield person.name, "father" if parent.male else "mother", parent.name
            yield parent.name, "son" if person.male else "daughter", person.name


def _add(links: Links, head: str, relation: str, tail: str) -> None:
    links[relation][head].add(tail)
    links[inverse_name(relation)][tail].add(head)


def _predict(links: Links, body: Body) -> Iterator[Pair]:
    """Yield each source with every other person that `body` leads to."""
    for source in links[body[0]] if body else ():
        for answer in _follow(links, source, body) - {source}:
            yield source, answer


def _follow(links: Links, source: str, body: Body) -> set[str]:
    reached = {source}
    for operator in body:
        reached = {answer for person in reached for answer in links[operator].get(person, ())}
    return reached


def _grow_tree(num_people: int, num_generations: int, rng: Random) -> tuple[list[Person], list[Couple]]:
    """Return exactly `num_people` people in generations of about equal size, and the couples among them."""
    _check_size(num_people, num_generations)
    names = {True: _distinct_names(MALE_NAMES, rng), False: _distinct_names(FEMALE_NAMES, rng)}
    parents = [_make_founders(names) for _ in range(num_people // num_generations // 2)]
    people, couples = [person for couple in parents for person in couple], list(parents)
    for generations_left in range(num_generations - 1, 0, -1):
        if not parents:
            raise ConfigError(DIED_OUT.format(num_people, num_generations))
        num_children = (num_people - len(people)) // generations_left
        children = [_make_child(parents, names, rng) for _ in range(num_children)]
        parents = _marry(children, rng)
        people += children
        couples += parents
    return people, couples


def _check_size(num_people: int, num_generations: int) -> None:
    if num_generations < 2:
        raise ConfigError(f"Families need at least 2 generations, got {num_generations}.")
    minimum = 4 * num_generations
    if not minimum <= num_people <= MAX_PEOPLE:
        raise ConfigError(
            f"Families of {num_generations} generations need {minimum:,} to {MAX_PEOPLE:,} people, "
            f"got {num_people:,}."
        )


def _make_founders(names: dict[bool, Iterator[str]]) -> Couple:
    return Person(next(names[True]), male=True), Person(next(names[False]), male=False)


def _make_child(couples: list[Couple], names: dict[bool, Iterator[str]], rng: Random) -> Person:
    """Return a child of a random couple: the number of children varies, and some have none."""
    male = rng.random() < 0.5
    return Person(next(names[male]), male, parents=rng.choice(couples))


def _marry(generation: list[Person], rng: Random) -> list[Couple]:
    """Return couples that are not related: each man gets the first woman who is still unmarried."""
    willing = [person for person in generation if rng.random() < SHARE_MARRYING]
    women = [person for person in willing if not person.male]
    rng.shuffle(women)
    couples = []
    for man in (person for person in willing if person.male):
        wife = next((woman for woman in women if not man.is_kin(woman)), None)
        if wife:
            women.remove(wife)
            couples.append((man, wife))
    return couples


def _distinct_names(names: str, rng: Random) -> Iterator[str]:
    """Yield each name in random order, then each with every other as second name: anna, then anna-ruth."""
    order = names.split()
    rng.shuffle(order)
    yield from order
    for shift in range(1, len(order)):
        yield from (f"{name}-{order[i - shift]}" for i, name in enumerate(order))
