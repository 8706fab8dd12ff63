"""What a question asks: its entities, misspelt or joined by "and", and whether it wants yes or no."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..graph.knowledge_base import KnowledgeBase
from .entity_linking import MARK, EntityLinker, Mention
from .examples import Interpretation, Interpreter
from .known_phrases import AUXILIARIES, FILLERS
from .model import Phrase
from .tokens import Token, WordVocabulary, split_words, tokenise

#: What stands between entities that an answer must have to do with alike.
JOINED = re.compile(r"\s*(,|&|,?\s*\b(and|with|und|et|y)\b)\s*(also\b|both\b)?\s*", re.IGNORECASE)

#: A word that makes up less than this share of all words in the training questions belongs to a name.
RARE = 1e-4


@dataclass(frozen=True)
class ParsedQuestion:
    """A question with its entities.

    `interpretations` are those of the entity that paths start from: of one name, there may be several.
    """

    text: str
    interpretations: tuple[Interpretation, ...]
    joined: tuple[Mention, ...] = ()  # further entities that the same is asked of
    claims: tuple[Mention, ...] = ()  # of a yes/no question: what is said to be an answer, by all its names
    corrected: tuple[tuple[str, str], ...] = ()  # what the text has, and the name it is taken for
    unused: tuple[Mention, ...] = ()  # entities that the text names and that are not used

    @property
    def first(self) -> Interpretation:
        """The likeliest interpretation."""
        return self.interpretations[0]

    @property
    def claimed(self) -> Mention | None:
        """The entity of which a yes/no question says that it is an answer."""
        return self.claims[0] if self.claims else None


class QuestionParser:
    """Finds out what questions about one knowledge base ask."""

    def __init__(self, kb: KnowledgeBase, vocabulary: WordVocabulary) -> None:
        self.interpreter = Interpreter(kb, vocabulary)
        self.vocabulary = vocabulary

    @property
    def linker(self) -> EntityLinker:
        """The entity linker over all names of the knowledge base."""
        return self.interpreter.linker

    def parse(self, text: str) -> list[ParsedQuestion]:
        """Return what a question may ask: two ways of it where yes or no is wanted."""
        words = split_words(text)
        if MARK.search(text):
            return [ParsedQuestion(text, tuple(self.interpreter.interpret(text)))]
        mentions, corrected = self._mentions(text)
        groups = _spans_apart(mentions)
        named = [group for group in groups[1:] if self._is_name(text, group[0])]
        joined, rest = _split_joined(text, groups[0][0], named)
        if words[0] in AUXILIARIES and len(rest) == 1 and not joined:
            both = groups[0], rest[0]
            return [self._claim(text, source, claimed, corrected) for source, claimed in (both, both[::-1])]
        source = groups[0][0]
        phrase = self._phrase(text, source, _hull([source, *(group[0] for group in joined)]))
        return [
            ParsedQuestion(
                text,
                tuple(Interpretation(mention, phrase) for mention in groups[0]),
                tuple(group[0] for group in joined),
                corrected=corrected,
                unused=tuple(group[0] for group in rest),
            )
        ]

    def _claim(
        self,
        text: str,
        source: Sequence[Mention],
        claimed: Sequence[Mention],
        corrected: tuple[tuple[str, str], ...],
    ) -> ParsedQuestion:
        """Return a yes/no question as one about `source`, of which `claimed` is said to be an answer."""
        phrase = self._phrase(text, source[0], _hull(claimed))
        if phrase.words[:1] == (tokenise(text)[0].word,):  # the verb that asks
            phrase = Phrase(phrase.words[1:], max(0, phrase.position - 1))
        interpretations = tuple(Interpretation(mention, phrase) for mention in source)
        return ParsedQuestion(text, interpretations, claims=tuple(claimed), corrected=corrected)

    def _phrase(self, text: str, source: Mention, left_out: tuple[int, int]) -> Phrase:
        """Return the words around a mention, without unknown fillers and the span that is left out."""
        spans = (left_out, (source.start, source.stop))
        tokens = [
            token
            for token in tokenise(text)
            if not any(start <= token.start and token.stop <= stop for start, stop in spans)
            and (token.word in self.vocabulary or token.word not in FILLERS)
        ]
        position = sum(token.start < source.start for token in tokens)
        return Phrase(tuple(token.word for token in tokens), position)

    def _mentions(self, text: str) -> tuple[list[Mention], tuple[tuple[str, str], ...]]:
        """Return the mentions of a text, those of misspelt names first, and what was corrected."""
        mentions = self.linker.link(text, self.vocabulary.surprisal)
        strong = [mention for mention in mentions if self._is_name(text, mention)]
        misspelt = [token for token in tokenise(text) if self._is_unexplained(token, strong)]
        near = self.linker.similar(text, misspelt)
        # A misspelt name must explain more than the names that are there: "Blade Runer" more than "Blade".
        better = [each for each in near if all(_covers(each, other) for other in strong[:1])]
        if better:
            corrected = tuple((text[each.start : each.stop], each.name) for each in better[:1])
            return [*better, *mentions], corrected
        if not mentions:
            self.linker.require(text, self.vocabulary.surprisal)
        return mentions, ()

    def _is_name(self, text: str, mention: Mention) -> bool:
        """Return whether a mention has a word that questions hardly have beside their entities."""
        return any(self._is_rare(token.word) for token in tokenise(text[mention.start : mention.stop]))

    def _is_rare(self, word: str) -> bool:
        return self.vocabulary.frequency(word) < RARE

    def _is_unexplained(self, token: Token, names: Iterable[Mention]) -> bool:
        covered = any(name.start <= token.start and token.stop <= name.stop for name in names)
        return not covered and self._is_rare(token.word)


def _covers(mention: Mention, other: Mention) -> bool:
    return mention.start <= other.start and other.stop <= mention.stop


def _spans_apart(mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Return the mentions grouped by span, the best first, of spans that do not overlap."""
    groups: list[list[Mention]] = []
    for mention in mentions:
        same = [group for group in groups if (group[0].start, group[0].stop) == (mention.start, mention.stop)]
        if same:
            same[0].append(mention)
        elif all(mention.stop <= group[0].start or group[0].stop <= mention.start for group in groups):
            groups.append([mention])
    return groups


def _split_joined(
    text: str, first: Mention, others: list[list[Mention]]
) -> tuple[list[list[Mention]], list[list[Mention]]]:
    """Return the mentions that are joined with the first one by "and" or a comma, and the rest."""
    joined: list[list[Mention]] = []
    for group in sorted(others, key=lambda group: group[0].start):
        members = [first, *(each[0] for each in joined)]
        if any(_are_joined(text, member, group[0]) for member in members):
            joined.append(group)
    return joined, [group for group in others if group not in joined]


def _are_joined(text: str, one: Mention, other: Mention) -> bool:
    before, after = sorted((one, other), key=lambda mention: mention.start)
    return JOINED.fullmatch(text[before.stop : after.start]) is not None


def _hull(mentions: Sequence[Mention]) -> tuple[int, int]:
    """Return the span from the first of some mentions to the last."""
    return min(each.start for each in mentions), max(each.stop for each in mentions)
