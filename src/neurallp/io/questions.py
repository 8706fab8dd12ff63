"""Files of questions: `question with [entity] marked<TAB>answer1|answer2[<TAB>type]` a line, or as .gz.

The mark is optional. Types may also be in a second file, one a line: `dev_qtype.txt` for `dev.tsv`.
"""

from pathlib import Path

from ..errors import FormatError, quoted
from ..qa.examples import WordQuestion
from .files import AnyPath, read_bytes

EXPECTED = "expected a question, a tab and answers with | between them"


def load_questions(path: AnyPath) -> list[WordQuestion]:
    """Return the questions of a file in order; raise one FormatError that lists all faulty lines."""
    path = Path(path)
    questions, faults = [], []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        question = _parse(line)
        if isinstance(question, str):
            faults.append(f"{path}:{number}: {question}, got {quoted(line, 80)}.")
        else:
            questions.append(question)
    if faults:
        raise FormatError.collected(faults)
    if not questions:
        raise FormatError(f"{path}: no questions. Give one on each line: {EXPECTED}.")
    return _with_kinds(questions, path)


def _parse(line: str) -> WordQuestion | str:
    """Return the question of a line, or the error message."""
    text, *fields = (field.strip() for field in line.split("\t"))
    answers = tuple(name for name in fields[0].split("|") if name) if fields else ()
    if not text or not answers or len(fields) > 2:
        return EXPECTED
    return WordQuestion(text, answers, fields[1] if len(fields) == 2 else None)


def _with_kinds(questions: list[WordQuestion], path: Path) -> list[WordQuestion]:
    """Return the questions with the types of the second file, where there is one."""
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    beside = [path.with_name(f"{stem}_qtype.txt{suffix}") for suffix in ("", ".gz")]
    found = next((file for file in beside if file.exists()), None)
    if found is None:
        return questions
    kinds = [line.strip() for line in _lines(found) if line.strip()]
    if len(kinds) != len(questions):
        raise FormatError(
            f"{found}: {len(kinds):,} types for the {len(questions):,} questions of {path.name}."
        )
    return [WordQuestion(q.text, q.answers, kind) for q, kind in zip(questions, kinds, strict=True)]


def _lines(path: Path) -> list[str]:
    try:
        return read_bytes(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} is not UTF-8. Save as UTF-8.") from error
