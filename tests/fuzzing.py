"""A mutation fuzzer for every reader: damaged files are errors of this package, never tracebacks.

`python tests/fuzzing.py --num 100000` (or `make fuzz`) runs all readers, each in a process of its own, and
reports the number of inputs, the worst time and the memory. An input that fails is written to `tests/corpus`,
where the tests find it from then on.
"""

import argparse
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from fuzz_readers import READERS, Reader

from neurallp.errors import NeuralLPError

CORPUS = Path(__file__).parent / "corpus"

#: How long a line of a message or a warning may be, and what one input may take.
MAX_LINE, MAX_SECONDS, MAX_MEMORY = 500, 10.0, 1 << 30

#: The address space of a process that reads, most of which libraries take and do not use.
MAX_ADDRESSES = 16 << 30

#: In memory where the system has such a folder: most of the time would be spent on opening files.
PLACE = "/dev/shm" if Path("/dev/shm").is_dir() else None

TOKENS = (
    *(b"[", b"]", b"{", b"}", b"\x00", b"\xff\xfe", b"\t", b"\n", b'"', b"'", b",", b"<", b">", b"&", b"~"),
    *(b"-1", b"1e999", b"NaN", b"18446744073709551616", b"null", b"true", b'""', b"\xed\xa0\x80", b"<<"),
    b"[" * 3000,
)


@dataclass
class Report:
    """What a run of the fuzzer found."""

    num_inputs: int = 0
    num_refused: int = 0
    slowest: float = 0.0
    failures: list[tuple[str, bytes]] = field(default_factory=list)


def mutate(data: bytes, random: random.Random) -> bytes:
    """Return the input with a few places changed."""
    content = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.randrange(len(content) + 1)
        match random.randrange(6):
            case 0 if content:
                content[place % len(content)] ^= 1 << random.randrange(8)
            case 1:
                del content[place : place + random.choice((1, 4, 64))]
            case 2:
                content[place:place] = random.choice(TOKENS)
            case 3:
                content[place : place + random.choice((1, 4))] = random.choice(TOKENS)
            case 4:
                content = content[:place]
            case _:
                content[place:place] = content[place // 2 : place // 2 + random.choice((1, 8, 64))]
    return bytes(content)


def check(reader: Reader, data: bytes, folder: Path, report: Report) -> None:
    """Let a reader read an input; a traceback, a long message and one that takes too long are failures."""
    path = folder / reader.name
    path.write_bytes(data)
    report.num_inputs += 1
    started = time.process_time()
    told: list[object] = []
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            reader.read(path)
        told += [warning.message for warning in warned]
    except NeuralLPError as error:
        report.num_refused += 1
        told.append(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        report.failures.append((f"{type(error).__name__}: {str(error)[:200]}", data))
    longest = max((len(line) for each in told for line in str(each).split("\n")), default=0)
    if longest > MAX_LINE:
        report.failures.append((f"a line of {longest:,} characters in a message", data))
    report.slowest = max(report.slowest, time.process_time() - started)


def fuzz(name: str, num: int, seed: int = 0, place: str | None = None) -> Report:
    """Return what a reader does with the corpus and `num` mutated inputs, each a file in a folder."""
    reader, report, chance = READERS[name], Report(), random.Random(f"{name} {seed}")
    seeds = reader.seeds()
    with tempfile.TemporaryDirectory(dir=place or PLACE) as own:
        signal.signal(signal.SIGVTALRM, _stop)
        folder = Path(own)
        check(reader, seeds[0], folder, Report())  # imports take their time once
        for data in [*seeds, *(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))]:
            check(reader, data, folder, report)
        for _ in range(num):
            check(reader, mutate(chance.choice(seeds), chance), folder, report)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return report


class TooLongError(BaseException):
    """A read that took too long: no handler of the code that is tested may take it for its own."""


def _stop(*_: object) -> None:
    raise TooLongError(f"more than {MAX_SECONDS:g} CPU seconds")


def _run(name: str, num: int, seed: int, place: str) -> None:
    """Run one reader, print what it did, keep what failed, and exit with 1 where something did."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESSES, MAX_ADDRESSES))  # a failure, not the machine's end
    fuzz(name, 0)
    before, started = _memory(), time.process_time()
    report = fuzz(name, num, seed, place)
    speed, memory = report.num_inputs / (time.process_time() - started), _memory()
    if memory - before > MAX_MEMORY:
        report.failures.append((f"{memory >> 20:,} MiB of memory", b""))
    counts = f"{report.num_inputs:>8,} inputs, {report.num_refused:>8,} refused, {speed:6,.0f} a CPU second"
    limits = f"slowest {report.slowest:5.2f} s, memory {memory >> 20:5,} MiB"
    sys.stdout.write(f"{name:31} {counts}, {limits}, {len(report.failures)} failures\n")
    for reason, data in report.failures[:20]:
        sys.stdout.write(f"    {reason}\n")
        _keep(name, data)
    sys.stdout.flush()
    sys.exit(bool(report.failures))


def _keep(name: str, data: bytes) -> None:
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    (CORPUS / name / sha256(data).hexdigest()[:12]).write_bytes(data)


def _memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run the fuzzer; exit with 1 where an input failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", help=f"all unless given: {', '.join(READERS)}")
    parser.add_argument("--num", type=int, default=10_000, help="inputs of each reader")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="another seed, other inputs")
    chosen = parser.parse_args()
    context, failed = multiprocessing.get_context("spawn"), False
    for name in chosen.readers or READERS:
        with tempfile.TemporaryDirectory(dir=PLACE) as place:
            process = context.Process(target=_run, args=(name, chosen.num, chosen.seed, place))
            process.start()
            process.join()
            for path in Path(place).glob(f"*/{READERS[name].name}"):  # left by a process that crashed
                sys.stdout.write(f"{name}: a crash ({process.exitcode})\n")
                _keep(name, path.read_bytes())
        failed |= process.exitcode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
