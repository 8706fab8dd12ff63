"""`experiment`: the paper's tables and figures, ours beside the published ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json
from .output import console, markup, print_json, progress, say, show_warning

if TYPE_CHECKING:
    from ..experiments.run import Job
    from ..experiments.specification import Experiment, Outcome, Results
    from ..experiments.tables import Table


def experiment(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which: srl, grid, completion, inductive or qa.")
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Runs; the table gives their mean and deviation.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use a part of the data, to check that everything works.")
    ] = False,
    only: Annotated[str, typer.Option(help="Measure only lines whose names contain this.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time, each on a core of its own.")] = 1,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    out: Annotated[
        Path | None, typer.Option(help="Write tables, figures and every result here, and continue from them.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run an experiment of the paper on public data.

    A run that was stopped goes on with --out.
    """
    from ..experiments import find_experiment

    wanted = find_experiment(name, quick=quick, device=device)
    with _kept(out) as folder:
        results = _measure(wanted, folder, seeds, only, jobs, as_json)
        tables = _tables(wanted, results)
        if out is not None:
            _write(tables, name, out)
            _draw(wanted, results, out)
    if as_json:
        print_json([table.as_dict() for table in tables])
    else:
        console.print(markup("\n".join(table.as_markdown() for table in tables)), soft_wrap=True)


@contextmanager
def _kept(out: Path | None) -> Iterator[Path]:
    """Give the folder for outcomes; without one they go when the command ends."""
    if out is not None:
        from ..io.models.store import locked

        with locked(out):
            yield out
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


def _measure(
    wanted: "Experiment", folder: Path, seeds: int, only: str, num_processes: int, quiet: bool
) -> "Results":
    """Run what is not there yet under a progress bar; Ctrl-C leaves what is finished."""
    from ..errors import ConfigError, DataError, quoted
    from ..experiments.run import finished, jobs_of

    every = jobs_of(wanted, seeds, folder)
    jobs = [job for job in every if only.lower() in job.row.name]
    if not jobs:
        raise ConfigError(f"No line's name contains {quoted(only)}.")
    results = finished(every)
    try:
        for job, outcome in _watch(jobs, num_processes, quiet):
            results.add(job.row, job.seed, outcome)
    except KeyboardInterrupt:
        say("Stopped. What is finished is kept; the same command with --out goes on.")
    reasons = [results.why_not(job.row) for job in jobs]
    if all(reasons):
        raise DataError(f"Nothing could be measured. {reasons[0]}")
    return results


def _watch(jobs: "list[Job]", num_processes: int, quiet: bool) -> "Iterator[tuple[Job, Outcome]]":
    """Yield outcomes, with a progress bar."""
    from ..experiments.run import run

    with progress(str(jobs[0]), len(jobs), quiet=quiet, unit="items") as bar:
        for job, outcome in run(jobs, num_processes):
            bar.describe(f"Done: {job}")
            bar.advance()
            yield job, outcome


def _draw(wanted: "Experiment", results: "Results", out: Path) -> None:
    """Draw the pictures; figures are not lost where there is nothing to draw with."""
    from ..errors import ConfigError

    try:
        wanted.draw(results, out)
    except ConfigError as error:
        show_warning(str(error))


def _tables(wanted: "Experiment", results: "Results") -> "list[Table]":
    from ..experiments.tabulating import tabulate

    return [*(tabulate(table, results) for table in wanted.tables), *wanted.more_tables(results)]


def _write(tables: "list[Table]", name: str, out: Path) -> None:
    import json

    from ..io.files import atomic_write

    atomic_write(out / f"{name}.md", "\n".join(table.as_markdown() for table in tables))
    text = json.dumps([table.as_dict() for table in tables], indent=2, ensure_ascii=False)
    atomic_write(out / f"{name}.json", text + "\n")
