"""Pages in a real browser: what a person does, at any width, in light and dark, and without scripts."""

import json
from pathlib import Path

import pytest

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
WIDE, NARROW = 1280, 390

#: Run in the page: the violations that the accessibility checker finds, each with where it is.
CHECK = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map(each => each.id + ": " + each.nodes.map(node => node.target.join(" ")).slice(0, 3).join(" | "))"""


#: By how many pixels the page is wider than the screen.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


#: Run in the page: pairs of texts of drawings that overlap, and texts that leave their drawing.
OVERLAPS = """() => [...document.querySelectorAll("main svg")].flatMap(svg => {
    const box = each => each.getBoundingClientRect(), whole = box(svg);
    const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const texts = [...svg.querySelectorAll("text")];
    const pairs = texts.flatMap((one, i) => texts.slice(0, i).filter(other => over(box(one), box(other)))
        .map(other => `${one.textContent} / ${other.textContent}`));
    const out = texts.filter(each => box(each).left < whole.left || box(each).right > whole.right);
    return [...pairs, ...out.map(each => each.textContent)];
})"""


@pytest.fixture
def visit(browser, address):
    """Return a page of a new browser window; it must not have complained when the test ends."""
    contexts, complaints = [], []

    def visit(path, width=WIDE, **settings):
        size = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=size, base_url=address, **settings))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize(("scheme", "width"), [("light", WIDE), ("dark", NARROW)])
def test_every_page_is_accessible_and_fits_its_screen(visit, pages, scheme, width):
    page = visit("/", width, color_scheme=scheme)
    found = {}
    for name, place in pages.items():
        page.goto(place)
        page.evaluate(AXE)
        found[name] = page.evaluate(CHECK), page.evaluate(OVERFLOW), page.evaluate(OVERLAPS)
    assert found == dict.fromkeys(pages, ([], 0, []))


def test_a_person_asks_and_opens_a_proof_and_goes_back(visit, fact):
    head, relation, tail = fact
    page = visit("/")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Entity", exact=True).press_sequentially(head[:-1])
    option = page.get_by_role("option", name=head, exact=True)
    option.wait_for()
    page.keyboard.press("ArrowDown")
    while page.get_by_label("Entity", exact=True).get_attribute(
        "aria-activedescendant"
    ) != option.get_attribute("id"):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.get_by_label("Entity", exact=True).input_value() == head
    page.get_by_label("Relation", exact=True).select_option(relation)
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("link", name=f"Why? {tail}", exact=True).click()
    assert page.get_by_role("heading", level=1).inner_text() == f"{relation}({head}, {tail})"
    assert page.locator(".drawing svg .link").count() > 0
    page.get_by_role("heading", name="Because").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Answers").wait_for()


def test_names_typed_before_the_script_arrives_are_completed(visit, fact):
    page = visit("/relations")
    held = []
    page.route("**/complete.js", lambda route: held.append(route))
    page.goto("/ask", wait_until="commit")
    page.get_by_label("Entity", exact=True).press_sequentially(fact[0][:-1])
    held[0].continue_()
    page.get_by_role("option", name=fact[0], exact=True).wait_for()


def test_a_typo_finds_the_name_that_was_meant(visit, fact):
    name = fact[0]
    page = visit("/")
    page.get_by_label("Find an entity").press_sequentially(name[0] + name[2] + name[1] + name[3:])
    page.get_by_role("option", name=name, exact=True).click()
    page.wait_for_url(f"**/entity?name={name}")
    assert page.get_by_role("heading", level=1).inner_text() == name


def test_a_rule_is_left_out_and_used_again(visit):
    page = visit("/relation?name=cousin")
    page.get_by_role("link", name="Leave out").first.click()
    page.wait_for_url("**veto=cousin**")
    effect = page.get_by_role("heading", name="Without 1 rule")
    effect.wait_for()
    assert "Validation MRR" in page.locator(".effect").inner_text()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download the rules").click()
    rules = json.loads(Path(downloading.value.path()).read_text(encoding="utf-8"))
    assert rules["format"].startswith("neurallp scored rules")
    page.get_by_role("link", name="Use again").click()
    effect.wait_for(state="detached")
    assert "veto" not in page.url


def test_a_world_is_changed_and_the_address_brings_it_back(visit, fact):
    head, relation, tail = fact
    page = visit(f"/proof?head={head}&relation={relation}&tail={tail}")
    page.get_by_role("link", name="What if?", exact=True).click()
    page.locator(".side-by-side h3").first.wait_for()
    before = page.locator(".side-by-side h3").all_inner_texts()
    page.get_by_role("link", name="Remove").first.click()
    page.get_by_label("Changed facts or rules").wait_for()
    after = page.locator(".side-by-side h3").all_inner_texts()
    assert after[0] == before[0]
    again = visit(page.url)
    assert again.locator(".side-by-side h3").all_inner_texts() == after
    again.get_by_role("link", name="Back to the facts").click()
    again.get_by_label("Changed facts or rules").wait_for(state="detached")


def test_without_scripts_everything_is_still_there(visit, fact):
    head, relation, _ = fact
    page = visit("/what-if", width=NARROW, java_script_enabled=False)
    page.get_by_label("Entity", exact=True).fill(head)
    page.locator("#relation").select_option(relation)
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="Answers").wait_for()
    page.get_by_label("New fact: head").fill(head)
    page.locator("#add_relation").select_option("sister")
    page.get_by_label("tail", exact=True).fill(head)
    page.get_by_role("button", name="Add").click()
    assert f"sister({head}, {head})" in page.get_by_label("Changed facts or rules").inner_text()


def test_an_auditor_marks_facts_on_two_pages_without_scripts_and_downloads_the_marks(visit):
    page = visit("/audit", java_script_enabled=False)
    page.get_by_role("combobox", name="Relation").select_option("uncle")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("Your mark").first.select_option(label="doubt")
    page.get_by_role("button", name="Next").click()
    page.locator(".pages", has_text="Page 2 of").wait_for()
    page.get_by_label("Your mark").nth(1).select_option(label="accept")
    page.get_by_role("button", name="Keep the marks").click()
    page.locator("form .actions", has_text="2 marked").wait_for()
    assert "Page 2 of" in page.locator(".pages").inner_text()
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download marks as CSV").click()
    header, *rows = Path(downloading.value.path()).read_text(encoding="utf-8").splitlines()
    assert header == "judgement,head,relation,tail"
    assert sorted(row.split(",")[0] for row in rows) == ["accept", "doubt"]
    assert all(",uncle," in row for row in rows)


def test_the_keyboard_skips_to_the_content_and_sees_where_it_is(visit):
    page = visit("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
