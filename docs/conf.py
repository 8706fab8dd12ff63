"""Settings of the documentation site; nothing is fetched while it is built."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]
# Notebooks run in processes of their own, which find this version of the package by the path.
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
# A profile of their own: nothing of the user's, and no remark about connections within this machine.
PROFILE = HERE / "_build" / "ipython" / "profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.py").write_text("get_config().Application.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(PROFILE.parent)
logging.getLogger("traitlets").setLevel(logging.WARNING)

import neurallp  # noqa: E402

project = "neurallp"
author = "The neurallp authors"
copyright = author  # noqa: A001
version = release = neurallp.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "code_reference", "run_blocks"]
OPTIONAL_PAGES = ("explorer", "programs", "scale")
exclude_patterns = ["_build", "_ext"]

smartquotes = False  # options begin with two hyphens
html_theme = "furo"
html_title = f"neurallp {version}"
html_copy_source = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": False}
autodoc_preserve_defaults = True


def leave_out_absent_pages(app: Any, docname: str, source: list[str]) -> None:
    """Drop the pages of parts that this version does not have from the contents."""
    if docname == "index":
        lines = source[0].splitlines()
        absent = [page for page in OPTIONAL_PAGES if not (HERE / f"{page}.md").exists()]
        source[0] = "\n".join(line for line in lines if line not in absent)


def setup(app: Any) -> None:
    """Register what is not an extension of its own."""
    app.connect("source-read", leave_out_absent_pages)
