"""The public data sets: their names, addresses, licences and checksums.

Each is a folder of text files. `sums.tsv` has the number of lines of every file and the SHA-256 of its sorted
lines, which depends neither on their order nor on compression. Archives have no checksum; the files that are
extracted from them are checked.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from ..errors import DataError, UnknownNameError
from ..io.files import read_bytes

NEURAL_LP = "https://raw.githubusercontent.com/fanyangxyz/Neural-LP/{}/datasets/"
CONVE = "https://raw.githubusercontent.com/TimDettmers/ConvE/{}/"
GRAIL = "https://raw.githubusercontent.com/kkteru/grail/{}/data/"
FB15K = (
    "https://everest.hds.utc.fr/lib/exe/fetch.php?media=en:fb15k.tgz",
    "https://web.informatik.uni-mannheim.de/pi1/kge-datasets/fb15k.tar.gz",
)

PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Source:
    """One download: `addresses` are tried in turn; `members` map each part to its file in the archive.

    A member of "" is the downloaded file itself.
    """

    addresses: tuple[str, ...]
    members: Mapping[str, str]


@dataclass(frozen=True)
class PublicSet:
    """A data set that others have published."""

    name: str  # also the name of the folder
    title: str
    licence: str
    home: str
    sources: tuple[Source, ...] = ()  # none: download it by hand

    @property
    def files(self) -> dict[str, "Sum"]:
        """The files of the set and their checksums."""
        start = f"{self.name}/"
        return {path.removeprefix(start): lines for path, lines in _sums().items() if path.startswith(start)}

    def file_of(self, part: str) -> str:
        """Return the file that holds a part."""
        return next(name for name in self.files if name.split(".")[0] == part)


@dataclass(frozen=True)
class Sum:
    """The checksum of a file: the number of lines and their digest, or None if only the number is known."""

    num_lines: int
    digest: str | None

    @classmethod
    def of(cls, data: bytes) -> "Sum":
        """Return the checksum of a text; blank lines and whitespace around lines are ignored."""
        lines = sorted(line for line in map(bytes.strip, data.splitlines()) if line)
        return cls(len(lines), sha256(b"\n".join(lines)).hexdigest())

    def fits(self, data: bytes) -> bool:
        """Return whether a text has this checksum."""
        found = Sum.of(data)
        return found.num_lines == self.num_lines and self.digest in (None, found.digest)


@cache
def _sums() -> dict[str, Sum]:
    table = files(__package__).joinpath("sums.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in table.splitlines())
    return {path: Sum(int(count), None if digest == "-" else digest) for path, count, digest in rows}


def _each(pattern: str, commit: str, folder: str, parts: Iterable[str]) -> tuple[Source, ...]:
    """Return a source for each part that is a separate file of a repository."""
    where = [pattern.format(version) + folder for version in (commit, "master")]
    return tuple(Source(tuple(f"{place}/{part}.txt" for place in where), {part: ""}) for part in parts)


def _packed(addresses: tuple[str, ...], member: str) -> tuple[Source, ...]:
    return (Source(addresses, {part: member.format(part) for part in PARTS}),)


def _authors_set(name: str, title: str, folder: str, licence: str = "MIT") -> PublicSet:
    sources = _each(NEURAL_LP, "239af3b", folder, ("facts", *PARTS))
    return PublicSet(name, title, licence, "https://github.com/fanyangxyz/Neural-LP", sources)


def _conve_set(name: str, title: str, archive: str, licence: str) -> PublicSet:
    addresses = tuple(CONVE.format(version) + archive for version in ("f3c0eb2", "master"))
    return PublicSet(
        name, title, licence, "https://github.com/TimDettmers/ConvE", _packed(addresses, "{}.txt")
    )


def _grail_set(name: str) -> PublicSet:
    sources = _each(GRAIL, "2a3dffa", name, PARTS)
    title = "GraIL, training graph" if not name.endswith("_ind") else "GraIL, new entities"
    return PublicSet(f"grail/{name}", title, "see its source", "https://github.com/kkteru/grail", sources)


_SETS = (
    _authors_set("umls", "UMLS", "umls"),
    _authors_set("kinship", "Kinship", "kinship"),
    _authors_set("family", "a family tree", "family"),
    _authors_set("wn18", "WN18", "wn-18", "MIT; WordNet 3.0 licence"),
    _conve_set("wn18rr", "WN18RR", "WN18RR.tar.gz", "MIT; WordNet 3.0 licence"),
    _conve_set("fb15k-237", "FB15KSelected", "FB15k-237.tar.gz", "MIT; Freebase, CC BY"),
    PublicSet(
        "fb15k",
        "FB15K",
        "Freebase, CC BY",
        "https://everest.hds.utc.fr/doku.php?id=en:transe",
        _packed(FB15K, "freebase_mtr100_mte100-{}.txt"),
    ),
    *(
        _grail_set(f"{base}_v{number}{side}")
        for base in ("WN18RR", "fb237")
        for number in (1, 2, 3, 4)
        for side in ("", "_ind")
    ),
    PublicSet("metaqa", "questions of 1-3 hops", "CC BY 3.0", "https://github.com/yuyuz/MetaQA"),
    PublicSet(
        "wikimovies",
        "wiki_entities branch",
        "CC BY 3.0",
        "http://www.thespermwhale.com/jaseweston/babi/movieqa.tar.gz",
    ),
)

SETS = {each.name: each for each in _SETS}


def find_sets(name: str) -> list[PublicSet]:
    """Return the set called `name`, or all in the folder of that name (`grail`)."""
    found = [each for each in _SETS if each.name == name or each.name.startswith(f"{name}/")]
    if not found:
        raise UnknownNameError.among("data set", name, list(SETS), "The registry")
    return found


def data_folder() -> Path:
    """Return the folder of the public data sets: NEURALLP_DATA, or the user's cache."""
    named = os.environ.get("NEURALLP_DATA")
    return Path(named) if named else _user_cache() / "neurallp"


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def find_data(name: str) -> Path:
    """Return the folder of the public set called `name`, or raise with the command that downloads it."""
    (public,) = find_sets(name)
    folder = data_folder() / public.name
    if not folder.is_dir():
        raise DataError(
            f"The data set {name!r} is not in {data_folder()}. Download it with `neurallp data get {name}`, "
            "or set NEURALLP_DATA to the folder it is in."
        )
    return folder


def verify(public: PublicSet, folder: Path) -> dict[str, str]:
    """Return for each file of a set whether it is `right`, `wrong`, `missing`, or of the `right length`."""
    return {name: _check(folder / public.name / name, lines) for name, lines in public.files.items()}


def _check(path: Path, expected: Sum) -> str:
    if not path.exists():
        return "missing"
    if not expected.fits(read_bytes(path)):
        return "wrong"
    return "right" if expected.digest else "right length"
