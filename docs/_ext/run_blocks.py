"""Directives whose content is run when the site is built: commands with their output, and files they read.

    ```{file} club.ttl          writes the content to the page's folder, and shows it
    ```{run}                    runs the lines that begin with `$ `, and shows them with their output

Each page has a folder of its own, which begins with the files of `SAMPLE`: what the commands of the first
tutorial leave behind. These are run once; where a page repeats one of them, its output is shown again.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

#: Columns of the terminal whose output is shown.
WIDTH = "100"

MAKE_FAMILIES = """
import random
from neurallp.datasets.family import family_triples
from neurallp.io.triples import write_triples

facts = list(family_triples(num_people=120, seed=0))
random.Random(0).shuffle(facts)
write_triples("family.tsv", facts[250:])
write_triples("secret.tsv", facts[:250])
write_triples("strangers.tsv", family_triples(num_people=60, seed=1))
"""

#: The command of the first tutorial that takes long.
LEARN = "neurallp learn family.tsv --out family.model"


def make_sample(app: Sphinx) -> None:
    """Run the commands that every page may take for granted, in processes of their own."""
    folder = Path(app.outdir).parent / "sample"
    app.config.sample_folder = str(folder)
    if is_current(folder / "outputs.json"):
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Learning starts threads, after which a process must not be forked: Sphinx reads pages in forks.
    subprocess.run([sys.executable, "-c", MAKE_FAMILIES], cwd=folder, check=True)
    command = [sys.executable, "-c", "from neurallp.cli import main; main()", *shlex.split(LEARN)[1:]]
    done = subprocess.run(
        command,
        cwd=folder,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "COLUMNS": WIDTH},
    )
    (folder / "outputs.json").write_text(json.dumps({LEARN: done.stdout}), encoding="utf-8")


def is_current(made: Path) -> bool:
    """Return whether a file is newer than all code."""
    import neurallp

    sources = [Path(__file__), *Path(str(neurallp.__file__)).parent.rglob("*.py")]
    return made.exists() and made.stat().st_mtime > max(each.stat().st_mtime for each in sources)


class PageDirective(SphinxDirective):
    """A directive that works in the folder of its page."""

    has_content = True

    @property
    def folder(self) -> Path:
        """The folder of the page, with the files of the sample; empty again for each build."""
        sample = Path(self.config.sample_folder)
        folder = sample.with_name("pages") / self.env.docname
        if self.env.temp_data.get("page_folder") != str(folder):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(sample, folder)
            self.env.temp_data["page_folder"] = str(folder)
        return folder

    def block(self, text: str, language: str) -> nodes.literal_block:
        """Return a block of code."""
        block = nodes.literal_block(text, text, language=language)
        self.set_source_info(block)
        return block


class FileBlock(PageDirective):
    """A file that the commands of a page read."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Write the file and show it."""
        text = "\n".join(self.content)
        (self.folder / self.arguments[0]).write_text(text + "\n", encoding="utf-8")
        caption = nodes.paragraph()
        caption += nodes.literal(text=self.arguments[0])
        return [caption, self.block(text, "text")]


class RunBlock(PageDirective):
    """Commands, shown with their output; `:fails:` where one is an error, `:shows:` a drawing they make."""

    option_spec: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "fails": directives.flag,
        "shows": directives.path,
    }

    def run(self) -> list[nodes.Node]:
        """Run the commands and show them."""
        shown = []
        for line in self.content:
            status, output = self._run(line.removeprefix("$ ").partition("  #")[0].strip())
            shown += [line, *map(str.rstrip, output.rstrip().splitlines())]
            if status and "fails" not in self.options:
                raise self.error(f"{line} failed:\n{output}")
        drawn: list[nodes.Node] = []
        if "shows" in self.options:
            drawing = (self.folder / self.options["shows"]).read_text(encoding="utf-8")
            drawn = [nodes.raw("", f'<div style="overflow-x:auto">{drawing}</div>', format="html")]
        return [self.block("\n".join(shown), "console"), *drawn]

    def _run(self, command: str) -> tuple[int, str]:
        known = json.loads((self.folder / "outputs.json").read_text(encoding="utf-8"))
        if command in known:
            return 0, str(known[command])
        words = shlex.split(command)
        if words[0] == "neurallp":
            return run_in_process(words[1:], self.folder)
        done = subprocess.run(command, shell=True, cwd=self.folder, text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr


def run_in_process(words: list[str], folder: Path) -> tuple[int, str]:
    """Run a command of neurallp without a new process, which would import everything again."""
    from neurallp.cli import main

    output, given, status = StringIO(), sys.argv, 0
    with chdir(folder), warnings.catch_warnings(), redirect_stdout(output), redirect_stderr(output):
        sys.argv = ["neurallp", *words]
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            sys.argv = given
    return status, output.getvalue()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    os.environ["COLUMNS"] = WIDTH
    app.add_config_value("sample_folder", "", "")
    app.connect("builder-inited", make_sample)
    blocks: dict[str, type[Directive]] = {"run": RunBlock, "file": FileBlock}
    for name, block in blocks.items():
        app.add_directive(name, block)
    return {"parallel_read_safe": True}
