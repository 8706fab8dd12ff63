"""Where nothing can be written, as in a container with a read-only file system, questions are answered."""

import os
import shutil
import subprocess
import sys

import pytest
from samples import KERNEL_PROGRAM

#: Makes every file system read-only for one process; ends with 77 where the system does not allow it.
READ_ONLY = """
for place in / /tmp /var/tmp /dev/shm "$1"; do
    mount --bind $place $place 2>/dev/null && mount -o remount,ro,bind $place 2>/dev/null
done
cd "$1"; shift
if touch probe 2>/dev/null || touch /tmp/probe 2>/dev/null; then rm -f probe /tmp/probe; exit 77; fi
exec "$@"
"""

KERNEL = KERNEL_PROGRAM + "print(values.tolist())\n"


def run_read_only(folder, *command):
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    kept = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "NEURALLP_CACHE")}
    done = subprocess.run(
        [
            "unshare",
            "-m" if os.geteuid() == 0 else "-rm",
            "bash",
            "-c",
            READ_ONLY,
            "bash",
            str(folder),
            *map(str, command),
        ],
        capture_output=True,
        text=True,
        env=kept | {"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("cannot make a read-only file system here")
    return done


def neurallp(*arguments):
    return [sys.executable, "-c", "from neurallp.cli import main; main()", *arguments]


def test_a_question_is_answered(uncles, tmp_path):
    rules, facts = uncles
    found = run_read_only(tmp_path, *neurallp("ask", rules, facts, "--head", "zoe", "--relation", "uncle"))
    assert (found.returncode, found.stderr) == (0, "")
    assert "xan" in found.stdout


def test_kernels_are_compiled_without_a_place_to_keep_them_and_one_note_says_so(tmp_path):
    (tmp_path / "own_kernels.py").write_text(KERNEL)
    found = run_read_only(tmp_path, sys.executable, "-W", "always", tmp_path / "own_kernels.py")
    assert found.stdout.strip() == "[0, 2, 4]", found.stderr
    assert found.stderr.count("kernels are compiled in every run") == 1


def test_an_output_that_cannot_be_written_is_one_message(uncles, tmp_path):
    rules, facts = uncles
    found = run_read_only(tmp_path, *neurallp("predict", rules, facts, "--out", tmp_path / "out.tsv"))
    assert found.returncode == 2
    assert f"Cannot write {tmp_path / 'out.tsv'}: Read-only file system" in found.stderr
    assert "Traceback" not in found.stderr
