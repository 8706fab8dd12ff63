"""Generated facts about films, and questions of one to three hops whose true chains are known.

Relations are those of WikiMovies, so models of both can be compared. A chain never returns to the
source: another film by the director of X is not X.
"""

from collections import defaultdict
from itertools import product
from random import Random

from ..errors import ConfigError
from ..graph.knowledge_base import KnowledgeBase
from ..graph.vocabulary import inverse_name
from ..qa.examples import WordQuestion

Triple = tuple[str, str, str]
Body = tuple[str, ...]
Links = defaultdict[str, defaultdict[str, list[str]]]  # operator -> source -> answers

MAX_FILMS = 1500  # there are titles for more

ADJECTIVES = """
    amber ancient bitter blind borrowed brazen broken burning crimson crooked distant drowned eastern
    electric empty endless fallen feral frozen gentle gilded golden hidden hollow hungry idle ivory
    jagged lonely lost lunar marble midnight missing narrow northern paper quiet restless rusty sacred
    scarlet secret silent silver sleeping stolen sunken velvet wandering winter
"""
NOUNS = """
    anchor archive bridge carnival cathedral circus compass crown desert echo empire engine falcon ferry
    garden harbor horizon island kingdom lantern letter lighthouse machine meadow mirror mountain oracle
    orchard palace parade pilgrim planet prophet quarry river sailor shadow signal station storm
    stranger summer thief tower tunnel village voyage widow window wolf
"""
FIRST_NAMES = """
    Ada Agnes Akira Alma Anton Astrid Basil Bela Bianca Boris Carla Cedric Chidi Clara Dagmar Dmitri
    Edith Elias Emre Esther Fatima Felix Freya Gaston Greta Hamid Helga Hugo Imani Ingrid Ivan Jamila
    Jonas Kenji Lena Leif Ludmila Magnus Mei Milan Naomi Niall Olga Omar Petra Priya Rafael Rosa Selma
    Sven Tariq Thea Ursula Vikram Wanda Xenia Yusuf Zelda
"""
LAST_NAMES = """
    Abara Almeida Andersen Bauer Belov Castillo Dahl Demir Eriksen Falk Ferrari Fontaine Gruber Haddad
    Hoffmann Ibarra Ivanov Jansen Kaplan Kimura Kowalski Lindgren Lopez Marchetti Moreau Nakamura Novak
    Okafor Olsen Petrov Quist Rahman Reyes Rossi Sato Schmidt Silva Suzuki Tanaka Toth Ueda Varga Vogel
    Weber Yamada Zhang
"""
GENRES = ("Comedy", "Drama", "Western", "Horror", "Musical", "Thriller")
LANGUAGES = ("Norwegian", "Japanese", "Hungarian", "Portuguese", "Turkish")

#: What is asked of one film, by the relation that answers it; {} stands for the film or for "the films …".
ASKED = {
    "directed_by": ("who directed {}", "who is the director of {}", "name the person who directed {}"),
    "written_by": ("who wrote {}", "who is the writer of {}", "name the person who wrote {}"),
    "starred_actors": ("who acted in {}", "who starred in {}", "which actors appear in {}"),
    "release_year": ("when did {} come out", "what is the release year of {}"),
    "has_genre": ("what is the genre of {}", "tell me the genre of {}"),
    "in_language": ("what language is spoken in {}", "what is the language of {}"),
}

#: How films are described by what they are linked to; {} stands for a person, or after `same` for a film.
FILMS_OF = {
    "directed_by": ("directed by {}", "that {} directed"),
    "written_by": ("written by {}", "that {} wrote"),
    "starred_actors": ("starring {}", "that {} acted in"),
}
SAME = {
    "directed_by": ("by the director of {}", "that have the same director as {}"),
    "written_by": ("by the writer of {}", "that have the same writer as {}"),
    "starred_actors": ("with an actor of {}", "that share an actor with {}"),
}
WHICH = ("which films are there {}", "name the films {}", "list films {}")


def movies_knowledge_base(num_films: int = 200, seed: int = 0) -> KnowledgeBase:
    """Return the facts of generated films.

    >>> movies_knowledge_base()
    KnowledgeBase(400 entities, 6 relations, 1,745 facts)
    """
    return KnowledgeBase.from_triples(movie_triples(num_films, seed))


def movie_triples(num_films: int = 200, seed: int = 0) -> list[Triple]:
    """Return every fact of generated films; the same seed gives the same facts."""
    if not 2 <= num_films <= MAX_FILMS:
        raise ConfigError(f"num_films must be 2 to {MAX_FILMS:,}, got {num_films:,}.")
    rng = Random(seed)
    titles = rng.sample(
        [f"The {a} {n}".title() for a, n in product(ADJECTIVES.split(), NOUNS.split())], num_films
    )
    people = [" ".join(name) for name in product(FIRST_NAMES.split(), LAST_NAMES.split())]
    # Directors, writers and actors are different people, so that their relations are distinguishable.
    crews = [max(2, num_films // share) for share in (6, 5, 3)]
    chosen = rng.sample(people, sum(crews))
    directors, writers = chosen[: crews[0]], chosen[crews[0] : -crews[2]]
    return [fact for title in titles for fact in _film(title, directors, writers, chosen[-crews[2] :], rng)]


def _film(
    title: str, directors: list[str], writers: list[str], actors: list[str], rng: Random
) -> list[Triple]:
    facts = {
        "directed_by": rng.sample(directors, rng.choice((1, 1, 2))),
        "written_by": rng.sample(writers, rng.choice((1, 1, 2))),
        "starred_actors": rng.sample(actors, min(len(actors), rng.choice((2, 3, 4)))),
        "release_year": [str(rng.randint(1950, 1999))],
        "has_genre": [rng.choice(GENRES)],
        "in_language": [rng.choice(LANGUAGES)],
    }
    return [(title, relation, value) for relation, values in facts.items() for value in values]


def movie_questions(kb: KnowledgeBase, num_questions: int = 2000, seed: int = 0) -> list[WordQuestion]:
    """Return questions with marked entities, answers and types; the type is the chain, such as `~r s`."""
    rng = Random(seed)
    links = _links(kb)
    templates = list(_templates())
    questions: list[WordQuestion] = []
    while len(questions) < num_questions:
        body, text = rng.choice(templates)
        source = rng.choice(list(links[body[0]]))
        if answers := follow(links, source, body):
            questions.append(WordQuestion(text.format(f"[{source}]"), tuple(answers), " ".join(body)))
    return questions


def _templates() -> list[tuple[Body, str]]:
    """Return every chain with each of its wordings; {} stands for the entity."""
    films: list[tuple[Body, str]] = [
        ((inverse_name(r),), text) for r, texts in FILMS_OF.items() for text in texts
    ]
    films += [((r, inverse_name(r)), text) for r, texts in SAME.items() for text in texts]
    direct = [((r,), text) for r, texts in ASKED.items() for text in texts]
    which = [(body, which.format(clause)) for body, clause in films for which in WHICH]
    further = [
        ((*body, r), text.format(f"the films {clause}"))
        for body, clause in films
        for r, texts in ASKED.items()
        for text in texts
    ]
    return [*direct, *which, *further]


def _links(kb: KnowledgeBase) -> Links:
    links: Links = defaultdict(lambda: defaultdict(list))
    for head, relation, tail in kb.facts.tolist():
        source, name, answer = kb.entities[head], kb.relations[relation], kb.entities[tail]
        links[name][source].append(answer)
        links[inverse_name(name)][answer].append(source)
    return links


def follow(links: Links, source: str, body: Body) -> list[str]:
    """Return the ends of a chain's paths that never return to their source, sorted."""
    reached = {source}
    for operator in body:
        reached = {answer for entity in reached for answer in links[operator].get(entity, ())} - {source}
    return sorted(reached)
