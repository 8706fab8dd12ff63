"""Weighted rules as a Prolog program that computes their scores; for SWI-Prolog.

The bodies of a query are a tree that shares their prefixes, so that each is walked once for a source.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ...reasoning.calibration import Calibration
from ...weighting.kinds.near_kernels import GOING_ON, LEAST, NUM_STEPS, TAKEN
from ...weighting.kinds.shared_neighbours_kernels import SMOOTHING
from ...weighting.weighted_rules import WeightedRules
from . import calibrated_prolog
from .atoms import decimal
from .logic import operator_term, quote_atom
from .scored import CHAINS, ScoredRule, scored_rules

HEADER = """\
% Scores of weighted rules, for SWI-Prolog. Facts: fact(Head, Relation, Tail), from a file loaded besides.
% ?- answers(anna, uncle, Pairs).            Score-Entity pairs for (anna, uncle, ?), the best first
% ?- answers(carl, inv(uncle), Pairs).       for (?, uncle, carl)
% ?- score(anna, uncle, carl, Score).
% Entities that are not listed score 0, or are no candidates.
:- encoding(utf8).
:- set_prolog_flag(optimise, true).
:- multifile fact/3.
:- dynamic fact/3, relation/2, chains/2, prior/2, unary/5, sourced/5, shared/6, near/4, linked/2.
:- discontiguous chains/2, prior/2, unary/5, sourced/5, shared/6, near/4, linked/2.
"""

PROGRAM = """
answers(Source, Query, Answers) :-
    scores(Source, Query, Pairs),
    findall(Score-Entity, member(Entity-Score, Pairs), Scored),
    sort(1, @>=, Scored, Answers).

score(Source, Query, Entity, Score) :- scores(Source, Query, Pairs), memberchk(Entity-Score, Pairs).

% Entity-Score pairs, entities ascending.
scores(Source, Query, Pairs) :-
    findall(Entity-Amount, amount(Source, Query, Entity, Amount), Amounts),
    keysort(Amounts, Sorted),
    sums(Sorted, Reached),
    common(Query, Prior),
    added(Reached, Prior, All),
    excluded(Source, Query, Excluded),
    without(All, Excluded, Pairs).

sums([], []).
sums([Entity-Amount|Rest], [Entity-Sum|Pairs]) :-
    sums(Rest, Entity, Amount, Sum, Others), sums(Others, Pairs).

sums([Entity-More|Rest], Entity, Amount, Sum, Others) :- !,
    Next is Amount + More, sums(Rest, Entity, Next, Sum, Others).
sums(Others, _, Sum, Sum, Others).

added([], Pairs, Pairs) :- !.
added(Pairs, [], Pairs) :- !.
added([E1-A1|Rest1], [E2-A2|Rest2], [Pair|Pairs]) :-
    compare(Order, E1, E2),
    (   Order = (<) -> Pair = E1-A1, added(Rest1, [E2-A2|Rest2], Pairs)
    ;   Order = (>) -> Pair = E2-A2, added([E1-A1|Rest1], Rest2, Pairs)
    ;   Sum is A1 + A2, Pair = E1-Sum, added(Rest1, Rest2, Pairs)
    ).

without(Pairs, [], Pairs) :- !.
without([], _, []) :- !.
without([E-A|Rest], [X|Xs], Pairs) :-
    compare(Order, E, X),
    (   Order = (<) -> Pairs = [E-A|Others], without(Rest, [X|Xs], Others)
    ;   Order = (>) -> without([E-A|Rest], Xs, Pairs)
    ;   without(Rest, Xs, Pairs)
    ).

relation_of(inv(Relation), Relation) :- !.
relation_of(Relation, Relation).

inverse(inv(Relation), Relation) :- !.
inverse(Relation, inv(Relation)).

edge(Source, inv(Relation), Target) :- !, fact(Target, Relation, Source).
edge(Source, Relation, Target) :- fact(Source, Relation, Target).

:- table targets/3, entity_list/1, arrivals/4, links/3, common/2.
targets(Entity, Operator, Targets) :-
    findall(Target, edge(Entity, Operator, Target), Found), sort(Found, Targets).

% The targets of an operator, each with the number of its edges that arrive there, and their number.
arrivals(Entity, Operator, Number, Arrivals) :-
    targets(Entity, Operator, Targets), length(Targets, Number), inverse(Operator, Inverse),
    findall(Target-Size,
            ( member(Target, Targets), targets(Target, Inverse, Others), length(Others, Size) ),
            Arrivals).

% The targets of all edges of an entity, one for each edge, and their number.
links(Entity, Number, Targets) :-
    findall(R-T, (fact(Entity, R, T), relation(R, _)), Leaving), sort(Leaving, Forward),
    findall(R-T, (fact(T, R, Entity), relation(R, _)), Arriving), sort(Arriving, Backward),
    append(Forward, Backward, Edges), pairs_values(Edges, Targets), length(Targets, Number).

% The entities that an edge of another operator than the query leads to, ascending.
linked_by_others(Source, Query, Linked) :-
    findall(Entity,
            ( relation(R, _),
              ( R \\== Query, fact(Source, R, Entity) ; inv(R) \\== Query, fact(Entity, R, Source) ) ),
            Found),
    sort(Found, Linked).

entity_list(Entities) :-
    findall(Entity, (fact(Entity, _, _) ; fact(_, _, Entity)), Found), sort(Found, Entities).

% What the prior adds to the score of each answer of a query.
common(Query, Amounts) :-
    prior(Query, Weight), !,
    findall(Entity-Source, edge(Source, Query, Entity), Found), sort(Found, Pairs),
    findall(Entity, member(Entity-_, Pairs), Entities), counted(Entities, Counts),
    findall(Entity-Amount, (member(Entity-Number, Counts), Amount is Weight * log(1 + Number)), Amounts).
common(_, []).

is_entity(Entity) :- fact(Entity, _, _), !.
is_entity(Entity) :- fact(_, _, Entity), !.

log_scale(P, Value) :- Value is log(1 + 100 * P) / log(101).

weighted(Forward, Backward, [W0, W1, W2], Amount) :-
    log_scale(Forward, F), log_scale(Backward, B), Amount is W0 + W1 * F + W2 * B.

% Chains: chains(Query, Nodes). A node is step(Operator, Weights, Nodes); Weights = [] where no body ends.
amount(Source, Query, Entity, Amount) :-
    chains(Query, Nodes), walked(Nodes, [Source-w(1.0, 1.0)], Entity, Amount).
amount(Source, Query, Entity, Amount) :-
    unary(Query, Operator, End, Entity, Amount), targets(Source, Operator, Targets), ends(End, Targets),
    is_entity(Entity).
amount(Source, Query, Entity, Amount) :-
    sourced(Query, Source, Operator, Start, Amount), is_entity(Source), targets(Start, Operator, Targets),
    member(Entity, Targets).
amount(Source, Query, Entity, Amount) :-
    shared(Query, Kind, Operator, W0, W1, W2),
    findall(E-C, confidence(Kind, Source, Query, Operator, E, C), Found), keysort(Found, Sorted),
    combined(Sorted, Combined), member(Entity-c(Largest, Doubt), Combined),
    NoisyOr is 1 - Doubt, weighted(Largest, NoisyOr, [W0, W1, W2], Amount).
amount(Source, Query, Entity, Amount) :-
    near(Query, W0, W1, W2), wander(NUM_STEPS, [Source-1.0], [], Reached), links(Source, Leaving, _),
    member(Entity-P, Reached), links(Entity, Arriving, _), Back is P * Leaving / Arriving,
    near_scale(P, Forward), near_scale(Back, Backward), Amount is W0 + W1 * Forward + W2 * Backward.
amount(Source, Query, Entity, Amount) :-
    linked(Query, Amount), linked_by_others(Source, Query, Linked), member(Entity, Linked).

ends(anywhere, [_|_]).
ends(at(Entity), Targets) :- memberchk(Entity, Targets).

walked(Nodes, Frontier, Entity, Amount) :-
    member(step(Operator, Weights, Children), Nodes),
    follow(Frontier, Operator, Reached), Reached \\== [],
    (   Weights \\== [], member(Entity-w(Forward, Backward), Reached),
        weighted(Forward, Backward, Weights, Amount)
    ;   Children \\== [], walked(Children, Reached, Entity, Amount)
    ).

follow(Frontier, Operator, Reached) :-
    findall(Target-w(F, B),
            ( member(Entity-w(Forward, Backward), Frontier), arrivals(Entity, Operator, Number, Arrivals),
              member(Target-Size, Arrivals), F is Forward / Number, B is Backward / Size ),
            Found),
    keysort(Found, Sorted), merged(Sorted, Reached).

merged([], []).
merged([E-w(F1, B1), E-w(F2, B2)|Rest], Merged) :- !,
    F is F1 + F2, B is B1 + B2, merged([E-w(F, B)|Rest], Merged).
merged([Pair|Rest], [Pair|Merged]) :- merged(Rest, Merged).

% Nearness: walks along edges of any relation, each with the same probability; where too little would be
% carried along each edge, they end. The probability of an entity is summed over the steps.
wander(0, _, Reached, Reached) :- !.
wander(Steps, Frontier, Sofar, Reached) :-
    findall(Target-Share,
            ( member(Entity-P, Frontier), links(Entity, Number, Targets), Number > 0,
              Share is GOING_ON * P / Number, Share >= TAKEN, member(Target, Targets) ),
            Found),
    keysort(Found, Sorted), sums(Sorted, Next), added(Sofar, Next, Sum),
    Left is Steps - 1, wander(Left, Next, Sum, Reached).

near_scale(P, Value) :- Value is log(1 + P / LEAST) / log(1 + 1 / LEAST).

% Shared neighbours: of the other entities with a neighbour, the share that has the answer, or that is one.
confidence(anchored, Source, Query, Operator, Entity, Confidence) :-
    inverse(Operator, Inverse), targets(Source, Operator, Neighbours), member(Neighbour, Neighbours),
    Neighbour \\== Source, targets(Neighbour, Inverse, All),
    subtract_one(All, Source, Others), length(Others, Size),
    findall(E, (member(Other, Others), targets(Other, Query, Es), member(E, Es), E \\== Source), Found),
    msort(Found, Sorted), counted(Sorted, Counts), member(Entity-Count, Counts),
    Confidence is Count / (Size + SMOOTHING).
confidence(mirrored, Source, Query, Operator, Entity, Confidence) :-
    inverse(Operator, Inverse), targets(Source, Query, Known), subtract_one(Known, Source, Answers),
    findall(N, (member(Answer, Answers), targets(Answer, Operator, Ns), member(N, Ns), N \\== Source), Found),
    msort(Found, Sorted), counted(Sorted, Counts), member(Neighbour-Tally, Counts),
    targets(Neighbour, Inverse, All), subtract_one(All, Source, Group), length(Group, Size),
    member(Entity, Group), (memberchk(Entity, Answers) -> Count is Tally - 1 ; Count = Tally), Count > 0,
    Confidence is Count / (Size - 1 + SMOOTHING).

subtract_one(List, Item, Rest) :- exclude(==(Item), List, Rest).

counted([], []).
counted([Item|Rest], [Item-Number|Counts]) :- run(Rest, Item, 1, Number, Others), counted(Others, Counts).

run([Item|Rest], Item, Sofar, Number, Others) :- !, Next is Sofar + 1, run(Rest, Item, Next, Number, Others).
run(Others, _, Number, Number, Others).

combined([], []).
combined([E-C|Rest], Combined) :- Doubt is 1.0 - C, combine(Rest, E, C, Doubt, Combined).

combine([E-C|Rest], E, Largest, Doubt, Combined) :- !,
    Max is max(Largest, C), Less is Doubt * (1.0 - C), combine(Rest, E, Max, Less, Combined).
combine(Rest, E, Largest, Doubt, [E-c(Largest, Doubt)|Combined]) :- combined(Rest, Combined).

"""

#: The numbers that the program names.
CONSTANTS = {
    "SMOOTHING": SMOOTHING,
    "NUM_STEPS": NUM_STEPS,
    "GOING_ON": GOING_ON,
    "TAKEN": TAKEN,
    "LEAST": LEAST,
}

EXCLUDED = """\
% The entities that are no candidates, ascending.
excluded(Source, Query, Excluded) :-
    relation_of(Query, Relation), ( relation(Relation, true) -> Own = [] ; Own = [Source] ), LINKED.
"""

ALONE = "Excluded = Own"

LINKED = """targets(Source, Query, Known), linked_by_others(Source, Query, Linked),
    ord_subtract(Linked, Known, Others), ord_union(Own, Others, Excluded)"""


def render(weighted: WeightedRules, calibration: Calibration | None = None) -> str:
    """Return the program; with a calibration, it has probabilities too."""
    rules = list(scored_rules(weighted))
    relations = zip(weighted.relations, weighted.reflexive.tolist(), strict=True)
    declared = [f"relation({quote_atom(name)}, {str(flag).lower()}).\n" for name, flag in relations]
    excluded = EXCLUDED.replace("LINKED", LINKED if weighted.excludes_linked else ALONE)
    program = PROGRAM + excluded
    for constant, value in CONSTANTS.items():
        program = program.replace(constant, str(value))
    probabilities = "" if calibration is None else calibrated_prolog.render(calibration)
    return "".join([HEADER, *declared, program, probabilities, *_clauses(rules)])


def _clauses(rules: Iterable[ScoredRule]) -> Iterator[str]:
    for query, own in groupby(rules, key=lambda rule: rule.query):
        name, group = operator_term(query), list(own)
        if chains := [rule for rule in group if rule.kind in CHAINS]:
            yield f"chains({name}, {_nodes(chains)}).\n"
        for rule in group:
            first = operator_term(rule.operators[0]) if rule.operators else ""
            if rule.kind == "near":
                yield f"near({name}, {_numbers(rule.weights)}).\n"
            elif rule.kind == "linked":
                yield f"linked({name}, {decimal(sum(rule.weights))}).\n"
            elif rule.kind == "prior":
                yield f"prior({name}, {decimal(rule.weights[0])}).\n"
            elif rule.kind == "unary":
                answer, weight = quote_atom(str(rule.answer)), decimal(sum(rule.weights))
                end = "anywhere" if rule.end is None else f"at({quote_atom(rule.end)})"
                yield f"unary({name}, {first}, {end}, {answer}, {weight}).\n"
            elif rule.kind == "sourced":
                source, start = quote_atom(str(rule.source)), quote_atom(str(rule.start))
                yield f"sourced({name}, {source}, {first}, {start}, {decimal(sum(rule.weights))}).\n"
            elif rule.kind not in CHAINS:
                yield f"shared({name}, {rule.kind}, {first}, {_numbers(rule.weights)}).\n"


def _nodes(chains: list[ScoredRule]) -> str:
    """Return the tree of the bodies of a query; weights of equal bodies, of two kinds, are added."""
    root: dict[str, Any] = {}
    for rule in chains:
        node: dict[str, Any] = {"children": root}
        for operator in rule.operators:
            node = node["children"].setdefault(operator, {"weights": None, "children": {}})
        before = node["weights"] or (0.0, 0.0, 0.0)
        node["weights"] = tuple(a + b for a, b in zip(before, rule.weights, strict=True))
    return _tree(root)


def _tree(nodes: dict[str, Any]) -> str:
    steps = []
    for operator, node in nodes.items():
        weights = "" if node["weights"] is None else _numbers(node["weights"])
        steps.append(f"step({operator_term(operator)}, [{weights}], {_tree(node['children'])})")
    return f"[{', '.join(steps)}]"


def _numbers(weights: Iterable[float]) -> str:
    return ", ".join(map(decimal, weights))
