"""Model folders for tests: their contents, and changes that keep the manifest right."""

import json

from neurallp.io.models.store import MANIFEST, update_files


def contents(folder):
    """Return every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def rewrite(folder, name, content):
    """Replace a file of a model as a save would, so that only its content can be found fault with."""
    update_files(folder, {name: content})


def change(folder, name, **values):
    """Put other values into a JSON file of a model; a key like model__num_steps goes one deeper."""
    whole = json.loads((folder / name).read_text())
    for key, value in values.items():
        *above, last = key.split("__")
        place = whole[above[0]] if above else whole
        place[last] = value
    text = json.dumps(whole)
    (folder / name).write_text(text) if name == MANIFEST else rewrite(folder, name, text)
