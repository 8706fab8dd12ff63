"""Forms of a page: what each is given as, and how numbers and names are shown."""

import csv
import io

import pytest

from neurallp.web.rendering import short, show_count, show_number, show_percent


def test_numbers_are_shown_for_reading():
    assert show_count(1234567) == "1\u202f234\u202f567"
    assert (show_count(None), show_number(None), show_percent(None)) == ("–", "–", "–")
    assert [show_percent(each) for each in (0.0, 0.5, 1.0)] == ["< 0.1 %", "50.0 %", "> 99.9 %"]


def test_a_long_name_loses_its_middle():
    assert short("a" * 30 + "b" * 30, 11) == "aaaaa…bbbbb"
    assert short("short") == "short"


@pytest.mark.parametrize(
    "name", ["relations", "relation", "rule", "ask", "proof", "entity", "audit", "marks"]
)
def test_tables_can_be_downloaded_as_csv(client, pages, name):
    place = pages[name] + ("&" if "?" in pages[name] else "?") + "format=csv"
    answer = client.get(place)
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    header, *rows = csv.reader(io.StringIO(answer.text))
    assert rows
    assert all(len(row) == len(header) for row in rows)


def test_a_spreadsheet_computes_nothing_of_a_table():
    from neurallp.web.pages.audit import MarkRow
    from neurallp.web.rendering import _as_csv

    text = _as_csv([MarkRow("doubt", "=1+1", "@r", "-x")])
    assert text.splitlines()[1] == "doubt,'=1+1,'@r,'-x"


def test_a_proof_can_be_downloaded_as_svg(client, pages):
    answer = client.get(pages["proof"] + "&format=svg")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.text.startswith("<svg")


def test_a_page_without_a_table_is_json_in_every_other_form(client):
    assert client.get("/attention?format=csv").headers["content-type"] == "application/json"


def test_links_keep_the_changed_world(look, fact):
    page = look("/entity", name=fact[0], remove="\t".join(fact))
    assert "Changed facts or rules" in page
    links = [part.split('"')[0] for part in page.split('href="')[1:]]
    kept = [link for link in links if link.startswith("/proof")]
    assert kept
    assert all("remove=" in link for link in kept)
    assert any(link == f"/entity?name={fact[0]}" for link in links)  # the way back


def test_the_menu_marks_the_page_and_the_section_that_it_belongs_to(look, fact):
    assert '<a href="/ask" aria-current="page">' in look("/ask")
    proof = look("/proof", head=fact[0], relation=fact[1], tail=fact[2])
    assert '<a href="/ask" aria-current="true">' in proof
    assert proof.count("aria-current") == 1
