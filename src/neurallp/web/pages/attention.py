"""Attention: which operators a neural model follows at each step for a query, and the rules of that."""

from dataclasses import dataclass, field

from ...pipeline.program import LearnedProgram
from ..explorer import Explorer
from .parameters import Name

NUM_RULES = 10


@dataclass(frozen=True)
class Heat:
    """Attention of one controller as a table: rows by steps."""

    title: str
    rows: list[str]
    columns: list[str]
    values: list[list[float]]


@dataclass(frozen=True)
class AttentionRule:
    """A rule that the attention stands for, and the weight of its path (alpha)."""

    logic: str
    confidence: float
    share: float


@dataclass(frozen=True)
class AttentionPage:
    """The attention of one query; empty for rules without a neural model."""

    query: str
    has_model: bool
    heats: list[Heat]
    rules: list[AttentionRule]
    queries: list[str] = field(repr=False)

    @property
    def query_options(self) -> list[tuple[str, str]]:
        """The queries to choose from."""
        return [(each, each) for each in self.queries]


def attention(explorer: Explorer, name: Name = "") -> AttentionPage:
    """The attention of a neural model over operators and memories, step by step."""
    program = explorer.program
    if not isinstance(program, LearnedProgram) or not program.has_model:
        return AttentionPage(name, False, [], [], [])
    from ...neural.rules import best_rules
    from ...plots import attend, largest_operators
    from ...rules.rule import RuleFilter

    model, relations = program.model, program.model.relations
    queries = [relations.operator_name(query) for query in range(relations.num_operators)]
    query = name or queries[0]
    number = relations.operator_id(query)
    operator, memory = attend(model, query)
    steps = [f"step {step + 1}" for step in range(operator.shape[1])]
    heats = []
    for place, (own, read) in enumerate(zip(operator, memory, strict=True), 1):
        which = f" of controller {place}" if len(operator) > 1 else ""
        labels, values = largest_operators(own, queries)
        heats.append(Heat(f"operators{which}", labels, steps, values.tolist()))
        slots = [f"memory {slot}" for slot in range(read.shape[1])]
        heats.append(Heat(f"memories read{which}", slots, [*steps, "end"], read.T.tolist()))
    found = best_rules(model, [number], RuleFilter(0.01), limit=NUM_RULES, kb=explorer.kb, measured=False)
    rules = [AttentionRule(str(each), each.confidence, each.normalized_confidence) for each in found]
    return AttentionPage(query, True, heats, rules, queries)
