import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neurallp.cli.stopping import ending

COMMAND = "from neurallp.cli import main; main()"


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, arguments)],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_sigterm_ends_a_run_with_what_is_learned_as_ctrl_c_does(data, tmp_path):
    process = start(
        *("learn", data, "--out", tmp_path / "model", "--engine", "reference", "--no-weigh"),
        *("--epochs", 100_000, "--patience", 100_000),
    )
    while not (tmp_path / "model" / "manifest.json").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 143
    told = [line for line in err.splitlines() if not re.match(r"\d\d:\d\d:\d\d ", line)]
    assert len(told) == 1
    assert told[0].startswith("Training was cut after epoch")


@pytest.mark.parametrize(("error", "code"), [("KeyboardInterrupt", 130), ("stopping.Terminated", 143)])
def test_a_signal_at_any_other_moment_is_one_line_and_the_code(error, code):
    script = (
        "from neurallp import cli; from neurallp.cli import stopping\n"
        f"def stop(*_, **__): raise {error}\n"
        "import neurallp.datasets.family as family; family.family_knowledge_base = stop\n"
        "import sys; sys.argv = ['neurallp', 'demo']; cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert len(done.stderr.splitlines()) == 1
    assert "Files that were being written are as before." in done.stderr


def test_output_that_cannot_be_written_is_one_message():
    with Path("/dev/full").open("w") as full:
        process = start("data", "list", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err == "Error: Cannot write the output: No space left on device.\n"


def test_too_little_memory_is_one_message(data, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    process = start(
        *("learn", data, "--out", tmp_path / "model", "--no-weigh", "--hidden-size", 60_000),
        preexec_fn=limit,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
    )
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("Error: There is not enough memory.")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    ],
)
def test_a_library_that_lacks_memory_or_addresses_is_no_traceback(error, capsys):
    with pytest.raises(SystemExit) as done, ending(debug=False):
        raise error
    assert done.value.code == 2
    assert capsys.readouterr().err.startswith("Error: There is not enough memory.")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_one_message(refuse, data, tmp_path):
    (tmp_path / "fixed").mkdir(mode=0o500)
    assert "Cannot" in refuse("learn", data, "--out", tmp_path / "fixed" / "model")
