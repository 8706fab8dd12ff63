"""The paper's grid (section 4.2): a map of places with eight directions, and queries that are paths on it.

North((1,2),(1,1)) means that (1,1) is north of (1,2): east increases the first number, south the second. A
query such as North_SouthWest holds between two places when the path leads from one to the other without
leaving the map.

Queries have no shortcuts: the Chebyshev distance between start and end equals the length of the path. A path
that turns back would be equivalent to a shorter one.
"""

from random import Random

from ..errors import ConfigError
from ..graph.knowledge_base import KnowledgeBase, Split, Triple, name_parts

Path = tuple[str, ...]
Place = tuple[int, int]

DIRECTIONS: dict[str, Place] = {
    "North": (0, -1),
    "NorthEast": (1, -1),
    "East": (1, 0),
    "SouthEast": (1, 1),
    "South": (0, 1),
    "SouthWest": (-1, 1),
    "West": (-1, 0),
    "NorthWest": (-1, -1),
}

#: For each side of the map the directions that lead towards it: a path of these has no shortcut.
HEADINGS = tuple(
    tuple(name for name, move in DIRECTIONS.items() if move[axis] == sign)
    for axis in (0, 1)
    for sign in (-1, 1)
)

# Fractions of the start-end pairs of a query: enough to distinguish a rule that fails at an edge.
SHARE_VALID = SHARE_TEST = 0.2


def grid_knowledge_base(size: int = 16) -> KnowledgeBase:
    """Return the map without queries.

    >>> grid_knowledge_base()
    KnowledgeBase(256 entities, 8 relations, 1,860 facts)
    """
    return KnowledgeBase.from_triples(grid_triples(size))


def grid_triples(size: int = 16) -> list[Triple]:
    """Return every fact of a square map: which place lies next to which, and where."""
    if size < 2:
        raise ConfigError(f"A grid needs at least 2 places a side, got {size}.")
    return [
        (name_place(place), direction, name_place(end))
        for direction, move in DIRECTIONS.items()
        for place in _places(size)
        if _is_inside(end := _go(place, move), size)
    ]


def grid_split(
    length: int, num_queries: int = 20, size: int = 16, seed: int = 0, max_pairs: int = 250
) -> Split:
    """Return the map as facts, and pairs of random queries of one length in train, valid and test.

    A query has all its pairs, or a sample of `max_pairs`.

    >>> grid_split(length=2, num_queries=3).relations.names[8:]
    ('SouthWest_South', 'NorthWest_NorthEast', 'East_NorthEast')
    """
    rng = Random(seed)
    parts: dict[str, list[Triple]] = {"facts": grid_triples(size), "train": [], "valid": [], "test": []}
    for path in random_paths(length, num_queries, rng):
        pairs = path_triples(path, size)
        if len(pairs) < 3:
            raise ConfigError(f"A {size} x {size} grid is too small for paths of {length} steps.")
        pairs = rng.sample(pairs, min(len(pairs), max_pairs))
        num_valid, num_test = (max(1, round(share * len(pairs))) for share in (SHARE_VALID, SHARE_TEST))
        parts["valid"] += pairs[:num_valid]
        parts["test"] += pairs[num_valid : num_valid + num_test]
        parts["train"] += pairs[num_valid + num_test :]
    return name_parts(dict(parts))


def random_paths(length: int, num: int, rng: Random) -> list[Path]:
    """Return distinct paths without shortcuts."""
    total = 4 * 3**length - 4  # the four diagonal paths have two headings
    if not 1 <= num <= total:
        raise ConfigError(f"There are {total:,} paths of {length} steps without shortcuts, not {num:,}.")
    paths: dict[Path, None] = {}
    while len(paths) < num:
        paths[tuple(rng.choices(rng.choice(HEADINGS), k=length))] = None
    return list(paths)


def path_triples(path: Path, size: int = 16) -> list[Triple]:
    """Return every pair of start and end of `path`, as facts of its query.

    >>> path_triples(("North", "SouthWest"), size=2)
    [('(1,1)', 'North_SouthWest', '(0,1)')]
    """
    ends = ((place, _follow(place, path, size)) for place in _places(size))
    query = "_".join(path)
    return [(name_place(start), query, name_place(end)) for start, end in ends if end is not None]


def name_place(place: Place) -> str:
    """Return a place as the paper writes it."""
    return f"({place[0]},{place[1]})"


def _places(size: int) -> list[Place]:
    return [(x, y) for x in range(size) for y in range(size)]


def _follow(place: Place, path: Path, size: int) -> Place | None:
    """Return where a path ends, or None if it leaves the map."""
    for direction in path:
        place = _go(place, DIRECTIONS[direction])
        if not _is_inside(place, size):
            return None
    return place


def _go(place: Place, move: Place) -> Place:
    return place[0] + move[0], place[1] + move[1]


def _is_inside(place: Place, size: int) -> bool:
    return min(place) >= 0 and max(place) < size
