"""Python blocks of pages that the site shows without running them."""

import pytest
from doc_pages import DOCS, python_blocks

#: The pages whose blocks are run here; formats.md has a test of its own, and notebooks are run by the site.
PAGES = [page for page in sorted(DOCS.glob("*.md")) if python_blocks(page) and page.name != "formats.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    for number, block in enumerate(python_blocks(page)):
        exec(compile(block, f"{page.name} block {number}", "exec"), space)
