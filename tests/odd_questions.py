"""Sixty odd questions about the films of `cinema`, written before any answer was seen.

Each has what answers it: names, "yes", "no", or DECLINE where no fact of the graph can; a question that may
be answered or declined has both. {film}, {other}, {director}, {writer}, {actor} and {partner} are names; a
misspelt one ends with "~".
"""

from collections import defaultdict

DECLINE = "declined"

#: The question, and how its answers are found: a chain from a name, or one of the words above.
QUESTIONS = [
    ("who directed {film}", "film directed_by"),
    ("who directed {film~}", "film directed_by"),
    ("WHO DIRECTED {film}???", "film directed_by"),
    ("who  directed   {film}", "film directed_by"),
    ("please tell me who directed {film}", "film directed_by"),
    ("hey, who is the director of {film}", "film directed_by"),
    ("could you tell me who directed {film~}?", "film directed_by"),
    ("who is the director of {film~}", "film directed_by"),
    ("name the person who directed {film~}", "film directed_by"),
    ("{film} director", "film directed_by", DECLINE),
    ("director {film}", "film directed_by", DECLINE),
    ("{film}", DECLINE),
    ("who is the writer of {film}", "film written_by"),
    ("who wrote {film~}", "film written_by"),
    ("writer {film}", "film written_by", DECLINE),
    ("who starred in {film~}", "film starred_actors"),
    ("which actors appear in {film}", "film starred_actors"),
    ("actors {film}", "film starred_actors", DECLINE),
    ("when did {film~} come out", "film release_year"),
    ("what is the release year of {film}", "film release_year"),
    ("release year {film}", "film release_year", DECLINE),
    ("what is the genre of {film~}", "film has_genre"),
    ("genre of {film}", "film has_genre", DECLINE),
    ("what language is spoken in {film}", "film in_language"),
    ("what language is spoken in {film~}", "film in_language"),
    ("language of {film}", "film in_language", DECLINE),
    ("which films are there directed by {director}", "director ~directed_by"),
    ("list films directed by {director~}", "director ~directed_by"),
    ("name the films that {director} directed", "director ~directed_by"),
    ("films directed by {director}", "director ~directed_by", DECLINE),
    ("list films starring {actor~}", "actor ~starred_actors"),
    ("list films starring {actor} and {partner}", "common"),
    ("name the films starring {partner} and {actor}", "common"),
    ("which films are there starring {actor}, {partner}", "common"),
    ("name the films that {writer} wrote", "writer ~written_by"),
    ("which films are there written by {writer~}", "writer ~written_by"),
    ("did {director} direct {film}", "yes", DECLINE),
    ("did {director} direct {other}", "no", DECLINE),
    ("is {film} directed by {director}", "yes", DECLINE),
    ("is {other} directed by {director}", "no", DECLINE),
    ("was {film} written by {writer}", "yes", DECLINE),
    ("was {other} written by {writer}", "no", DECLINE),
    ("did {actor} act in {film}", "yes", DECLINE),
    ("did {actor} act in {other}", "no", DECLINE),
    ("how tall is {actor}", DECLINE),
    ("how old is {director}", DECLINE),
    ("where was {film} shot", DECLINE),
    ("how much money did {film} earn", DECLINE),
    ("who composed the soundtrack of {film}", DECLINE),
    ("why should anybody watch {film}", DECLINE),
    ("is {film} good", DECLINE),
    ("what is the budget of {film}", DECLINE),
    ("qui a réalisé {film}", DECLINE),
    ("кто снял {film}", DECLINE),
    ("asdf qwer {film}", DECLINE),
    ("who directed", DECLINE),
    ("what is the capital of France", DECLINE),
    ("", DECLINE),
    ("when did the films directed by {director} come out", "director ~directed_by release_year"),
    ("who acted in the films written by {writer~}", "writer ~written_by starred_actors"),
]


def links_of(kb):
    """Return the answers of each (entity, operator)."""
    links = defaultdict(set)
    for head, relation, tail in kb.named_facts():
        links[head, relation].add(tail)
        links[tail, f"~{relation}"].add(head)
    return links


def name_the_roles(links):
    """Return a film, two of its actors, its crew, and a film that none of them had a part in."""
    films = sorted({film for film, relation in links if relation == "directed_by"})
    film = films[7]
    actor, partner = sorted(links[film, "starred_actors"])[:2]
    crew = {"director": min(links[film, "directed_by"]), "writer": min(links[film, "written_by"])}
    people = {actor, *crew.values()}
    other = next(
        each
        for each in films
        if not people
        & (links[each, "directed_by"] | links[each, "written_by"] | links[each, "starred_actors"])
    )
    return {"film": film, "other": other, "actor": actor, "partner": partner, **crew}


def misspell(name):
    """Return a name with two letters of its last word exchanged."""
    return f"{name[:-4]}{name[-3]}{name[-4]}{name[-2:]}"


def ask_about(text, roles):
    """Return the question with its names."""
    for role, name in roles.items():
        text = text.replace(f"{{{role}~}}", misspell(name)).replace(f"{{{role}}}", name)
    return text


def right_answers(how, roles, links):
    """Return the set of right answers, or the word that is one."""
    if how in {"yes", "no", DECLINE}:
        return how
    if how == "common":
        return links[roles["actor"], "~starred_actors"] & links[roles["partner"], "~starred_actors"]
    role, *chain = how.split()
    reached = {roles[role]}
    for operator in chain:
        reached = {tail for head in reached for tail in links[head, operator]} - {roles[role]}
    return reached
