"""The explorer under load: time to the first page, p95 of pages, and many askers at once, on loopback."""

import argparse
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter, sleep
from urllib.parse import urlencode, urlsplit

from report import report

from neurallp import KnowledgeBase, Split, load

#: Runs the command as `neurallp` does.
COMMAND = [sys.executable, "-c", "from neurallp.cli import main; main()"]


def main() -> None:
    """Serve MODEL over DATA and ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--requests", type=int, default=200, help="of each kind of page; 0: none")
    parser.add_argument("--askers", type=int, default=50, help="at the same time; 0: none")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    begun = perf_counter()
    server = subprocess.Popen(
        [*COMMAND, "serve", args.model, args.data, "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = urlsplit(_read_address(server))
        where = address.hostname or "", address.port or 0
        Client(*where).get("/")
        started = {"what": "start to first page", "ms": 1000 * (perf_counter() - begun), "number": 1}
        rows: list[dict[str, object]] = [started]
        wait_until_idle(server.pid)
        places = list_places(args.data, random.Random(0))
        client = Client(*where)  # a server closes connections that are not used for some seconds
        if args.requests:
            pages = places.items()
            rows += [time_pages(client, what, make, args.requests, server.pid) for what, make in pages]
        if args.askers:
            load_test(client, places, server.pid, args.askers, args.seconds / 6)  # threads get their memory
            rows.append(load_test(client, places, server.pid, args.askers, args.seconds))
    finally:
        server.terminate()
        server.wait()
    report(rows, args.json)


def _read_address(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    return next(word for line in server.stdout for word in line.split() if word.startswith("http://"))


def wait_until_idle(pid: int) -> None:
    """Wait until a server has warmed up: it uses no time for a second, and began to after the first."""
    sleep(2)
    before, now = -1.0, cpu_seconds(pid)
    while now - before > 0.05:
        sleep(1)
        before, now = now, cpu_seconds(pid)


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """A client of one server; each thread that uses one has a connection of its own."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self._connection = HTTPConnection(host, port, timeout=60)

    def get(self, place: str) -> float:
        """Ask for a page, and return the seconds it takes."""
        begun = perf_counter()
        self._connection.request("GET", place, headers={"Accept": "text/html"})
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status} for {place}")
        return perf_counter() - begun


def list_places(data: str, rng: random.Random) -> dict[str, Callable[[], list[str]]]:
    """Return for each kind of page what makes the addresses of one visit."""
    loaded = load(data)
    kb: KnowledgeBase = loaded.given if isinstance(loaded, Split) else loaded
    facts = rng.sample(list(kb.named_facts()), min(5000, len(kb.facts)))

    def answer_with_proof() -> list[str]:
        head, relation, tail = rng.choice(facts)
        question = {"entity": head, "relation": relation}
        fact = {"head": head, "relation": relation, "tail": tail}
        return [f"/ask?{urlencode(question)}", f"/proof?{urlencode(fact)}"]

    return {
        "first page": lambda: ["/"],
        "answer with proof": answer_with_proof,
        "relation": lambda: [f"/relation?{urlencode({'name': rng.choice(kb.relations.names)})}"],
    }


def time_pages(
    client: Client, what: str, make: Callable[[], list[str]], num: int, pid: int
) -> dict[str, object]:
    """Return percentiles of the time of one kind of visit, one after the other, and the processor time."""
    before = cpu_seconds(pid)
    times = [sum(map(client.get, make())) for _ in range(num)]
    return {"what": what, **percentiles(times), "cpu ms": 1000 * (cpu_seconds(pid) - before) / num}


def load_test(
    client: Client, places: dict[str, Callable[[], list[str]]], pid: int, askers: int, seconds: float
) -> dict[str, object]:
    """Return percentiles of the time of one request while many ask for some seconds, errors and memory."""
    end = perf_counter() + seconds
    errors: list[Exception] = []
    pauses = random.Random(0)

    def ask() -> Iterator[float]:
        own = Client(client.host, client.port)
        while perf_counter() < end:
            for place in places["answer with proof"]():
                try:
                    yield own.get(place)
                except (OSError, RuntimeError) as error:
                    errors.append(error)
                sleep(pauses.uniform(0.5, 1.5))  # a person reads

    before, used = memory(pid), cpu_seconds(pid)
    with ThreadPoolExecutor(askers) as pool:
        times = [each for found in pool.map(lambda _: list(ask()), range(askers)) for each in found]
    return {
        "what": f"{askers} askers for {seconds:g} s",
        **percentiles(times),
        "cpu ms": 1000 * (cpu_seconds(pid) - used) / len(times),
        "errors": len(errors),
        "MiB": before,
        "MiB more": memory(pid) - before,
    }


def percentiles(times: list[float]) -> dict[str, object]:
    """Return the median and the 95th percentile in milliseconds, and how many there are."""
    ordered = sorted(times)
    return {
        "ms": 1000 * ordered[len(ordered) // 2],
        "p95 ms": 1000 * ordered[int(0.95 * (len(ordered) - 1))],
        "number": len(ordered),
    }


def memory(pid: int) -> float:
    """Return the memory of a process in MiB."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
