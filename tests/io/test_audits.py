import csv
import gzip

import pytest
from reasoning_samples import BIG_FAMILY, UNCLES

from neurallp import ConfigError, KnowledgeBase, Reasoner
from neurallp.io.audits import write_audit


@pytest.fixture
def audit():
    odd = [("zoe", "uncle", 'say "hi", xan'), ("yan", "brother", 'say "hi", xan')]
    kb = KnowledgeBase.from_triples([*BIG_FAMILY, *odd, ("zoe", "uncle", "line\nbreak")])
    return Reasoner(kb, UNCLES).audit("uncle")


def test_an_audit_is_a_table_that_other_programs_read(audit, tmp_path):
    write_audit(tmp_path / "audit.csv", audit)
    with (tmp_path / "audit.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["tail"], first["score"], first["reasons"]) == (
        "line\nbreak",
        "0.0",
        "no rule applies to it",
    )
    assert (second["head"], second["relation"], second["tail"]) == ("zoe", "uncle", 'say "hi", xan')
    assert second["probability"] == ""
    assert second["reasons"].startswith("because father(zoe, yan) and brother(yan, say")


def test_it_may_be_compressed_and_nothing_but_csv(audit, tmp_path):
    write_audit(tmp_path / "audit.csv.gz", audit)
    assert gzip.decompress((tmp_path / "audit.csv.gz").read_bytes()).startswith(b"head,relation,tail,")
    with pytest.raises(ConfigError, match=r"audit\.xlsx\. Its name must end in \.csv or \.csv\.gz"):
        write_audit(tmp_path / "audit.xlsx", audit)


def test_names_that_spreadsheets_take_for_formulas_are_quoted_where_it_is_asked_for(tmp_path):
    kb = KnowledgeBase.from_triples([*BIG_FAMILY, ("zoe", "uncle", "=1+1")])
    for safe, expected in ((True, "'=1+1"), (False, "=1+1")):
        write_audit(tmp_path / "audit.csv", Reasoner(kb, UNCLES).audit("uncle", limit=1), safe=safe)
        with (tmp_path / "audit.csv").open(newline="", encoding="utf-8") as file:
            assert next(csv.DictReader(file))["tail"] == expected
