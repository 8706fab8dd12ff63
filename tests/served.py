"""The command `serve` in a process of its own, and what it answers."""

import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import Request, urlopen

COMMAND = [sys.executable, "-c", "from neurallp.cli import main; main()"]


@contextmanager
def serving(*arguments):
    """Run a command that serves, in a process of its own; give the address that it prints."""
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def fetch(address, path="", accept="text/html", tries=3):
    """Return what an address gives; a server that is busy, as while it compiles, says when to ask again."""
    try:
        with urlopen(Request(address + path, headers={"Accept": accept}), timeout=60) as answer:
            return answer.read().decode()
    except HTTPError as error:
        if error.code != 503 or tries == 1:
            raise
        time.sleep(int(error.headers["Retry-After"]))
        return fetch(address, path, accept, tries - 1)
