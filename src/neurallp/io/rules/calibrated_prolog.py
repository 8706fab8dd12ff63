"""Probabilities of answers in the scored Prolog program, computed as `reasoning.calibration` does."""

from collections.abc import Iterator

from ...reasoning.calibration import MAX_LOG_ODDS, Calibration
from ...reasoning.calibration_sample import CLIP, NUM_CASES
from .atoms import decimal
from .logic import operator_term

PROGRAM = """
% ?- probabilities(anna, uncle, 10, Answers).   answer(Entity, Score, Probability), the ten best
% A probability is how likely the fact is true, given all facts; it is `known` where it is one of them.
probabilities(Source, Query, Number, Answers) :-
    scores(Source, Query, Pairs), targets(Source, Query, Known),
    evidence(Source, Query, Pairs, Known, Evidence, Sharp),
    sort(2, @>=, Pairs, Sorted), length(Sorted, All), Size is min(Number, All),
    length(Best, Size), append(Best, _, Sorted),
    findall(answer(Entity, Score, P), answer(Best, Known, Evidence, Sharp, Entity, Score, P), Answers).

answer(Pairs, Known, Evidence, Sharp, Entity, Score, P) :-
    member(Entity-Score, Pairs),
    ( memberchk(Entity, Known) -> P = known ; likely(Score, Evidence, Sharp, P) ).

% evidence(Top, Others, Some, Constant): the best score, the sum of exp(score - Top) over all that are not
% known, whether some answer is known, and the part of the log odds that is equal for all answers.
% Where answers exclude each other: sharp(Sharpness, the sum of exp(Sharpness * (score - Top))); else none.
evidence(Source, Query, Pairs, Known, evidence(Top, Others, Some, Constant), Sharp) :-
    top(Pairs, 0.0, Top), totals(Pairs, Known, Top, 0.0, 0.0, 0, 0, OfKnown, OfOthers, ListedKnown, Listed),
    num_entities(All), excluded(Source, Query, Excluded), length(Excluded, NumExcluded),
    ord_subtract(Known, Excluded, Candidates), length(Candidates, NumKnown), length(Known, Number),
    Rest is exp(-Top),
    Unlisted is All - NumExcluded - NumKnown - Listed,
    Others is OfOthers + Unlisted * Rest, sharp(Query, Pairs, Known, Top, Unlisted, Sharp),
    Total is Others + OfKnown + (NumKnown - ListedKnown) * Rest,
    Case is min(Number, LAST_CASE),
    ( Case =:= 0 -> Some = false, domain(Source, Query, Odds), domain_slope(Slope), Part is Slope * Odds
    ; Some = true, left_slope(Case, Slope), Part is Slope * log(max(Others / Total, CLIP)) ),
    ( intercept(Query, Case, Intercept) -> true ; intercept(any, Case, Intercept) ),
    Constant is Part + Intercept.

sharp(Query, Pairs, Known, Top, Unlisted, Sharp) :-
    (   functional(Query, Sharpness)
    ->  findall(Amount, ( member(E-Score, Pairs), \\+ memberchk(E, Known),
                          Amount is exp(Sharpness * (Score - Top)) ), Amounts),
        sum_list(Amounts, Listed), Others is Listed + Unlisted * exp(-Sharpness * Top),
        Sharp = sharp(Sharpness, Others)
    ;   Sharp = none ).

top([], Top, Top).
top([_-Score|Rest], Sofar, Top) :- Next is max(Sofar, Score), top(Rest, Next, Top).

totals([], _, _, K, O, NK, NO, K, O, NK, NO).
totals([E-S|Rest], Known, Top, K0, O0, NK0, NO0, K, O, NK, NO) :-
    Amount is exp(S - Top),
    (   memberchk(E, Known)
    ->  K1 is K0 + Amount, NK1 is NK0 + 1, totals(Rest, Known, Top, K1, O0, NK1, NO0, K, O, NK, NO)
    ;   O1 is O0 + Amount, NO1 is NO0 + 1, totals(Rest, Known, Top, K0, O1, NK0, NO1, K, O, NK, NO)
    ).

likely(Score, evidence(Top, Others, Some, Constant), Sharp, P) :-
    odds(exp(Score - Top) / Others, Odds), highest(Highest),
    (   Sharp = sharp(Sharpness, Sum)
    ->  odds(exp(Sharpness * (Score - Top)) / Sum, Limit), Most is min(Limit, Highest)
    ;   Most = Highest ),
    findall(Part, ( piece(Some, Low, High, Knot, Slope), Part is Slope * (min(max(Odds, Low), High) - Knot) ),
            Parts),
    sum_list(Parts, Total),
    LogOdds is max(min(Constant + Total, Most), -MAX_LOG_ODDS), P is 1 / (1 + exp(-LogOdds)).

odds(Expression, Odds) :- Share is min(max(Expression, CLIP), 1 - CLIP), Odds is log(Share / (1 - Share)).

:- dynamic functional/2.
:- table num_entities/1, holders/2, domain_confidence/3.
num_entities(Number) :- entity_list(All), length(All, Number).

holders(Operator, Entities) :- findall(E, edge(E, Operator, _), Found), sort(Found, Entities).

domain_confidence(Query, Operator, Confidence) :-
    holders(Query, Asked), holders(Operator, Having), ord_intersection(Asked, Having, Both),
    length(Both, Number), length(Having, Size), Confidence is (Number + 0.5) / (Size + 1).

domain(Source, Query, LogOdds) :-
    holders(Query, Asked), length(Asked, Size), num_entities(All), Base is (Size + 0.5) / (All + 1),
    findall(C, ( relation(R, _), member(Operator, [R, inv(R)]), targets(Source, Operator, [_|_]),
                 domain_confidence(Query, Operator, C) ), Found),
    max_list([Base|Found], Best), LogOdds is log(Best / (1 - Best)).

"""

#: Stands for the end of the first and of the last piece: no clipped share has log odds as large.
INFINITE = 1000.0


def render(calibration: Calibration) -> str:
    """Return the clauses."""
    values = {"LAST_CASE": NUM_CASES - 1, "CLIP": CLIP, "MAX_LOG_ODDS": MAX_LOG_ODDS}
    program = PROGRAM
    for name, value in values.items():
        program = program.replace(name, str(value))
    return program + "".join(f"{clause}.\n" for clause in _clauses(calibration))


def _clauses(calibration: Calibration) -> Iterator[str]:
    for piece in calibration.pieces:
        ends = (max(piece.low, -INFINITE), min(piece.high, INFINITE), piece.knot, piece.slope)
        yield f"piece({str(piece.has_known).lower()}, {', '.join(map(decimal, ends))})"
    yield f"domain_slope({decimal(calibration.domain_slope)})"
    for case, slope in enumerate(calibration.left_slopes, 1):
        yield f"left_slope({case}, {decimal(slope)})"
    for case, value in enumerate(calibration.others):
        yield f"intercept(any, {case}, {decimal(value)})"
    for query, row in calibration.intercepts.items():
        for case, value in enumerate(row):
            yield f"intercept({operator_term(query)}, {case}, {decimal(value)})"
    for query, sharpness in calibration.functional.items():
        yield f"functional({operator_term(query)}, {decimal(sharpness)})"
    yield f"highest({decimal(min(calibration.highest, MAX_LOG_ODDS))})"
