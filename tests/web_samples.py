"""The addresses of all pages on a family, and names that would do harm if anything were not escaped."""

from urllib.parse import urlencode

#: A script, quotes of all kinds, and a name that is written from right to left.
SCRIPT, QUOTES, RTL = "<script>alert(1)</script>", "it's \"q\" & 'so'", "שלום עולם"


def address(path, **parameters):
    return path + ("?" + urlencode(parameters, doseq=True) if parameters else "")


def page_addresses(explorer):
    """Return an address of every kind of page, by name."""
    head, relation, tail = next(fact for fact in explorer.kb.named_facts() if fact[1] == "uncle")
    fact = {"head": head, "relation": relation, "tail": tail}
    question = {"entity": head, "relation": relation}
    removed = f"{head}\t{relation}\t{tail}"
    return {
        "overview": "/",
        "relations": "/relations",
        "relation": address("/relation", name="uncle"),
        "veto": address("/relation", name="uncle", veto=["uncle:0", "uncle:1"]),
        "rule": address("/rule", name="uncle:0"),
        "form": "/ask",
        "ask": address("/ask", **question),
        "question": address("/question", text="who is it"),
        "proof": address("/proof", **fact),
        "why not": address("/proof", head=head, relation=relation, tail=head),
        "what if": address("/what-if", **question, remove=removed),
        "entity": address("/entity", name=head),
        "find": address("/find", text=head[:2]),
        "calibration": "/calibration",
        "audit": "/audit",
        "marks": address("/marks", mark=[f"doubt\t{removed}", ""]),
        "compare": address("/compare", **question),
        "attention": "/attention",
    }
