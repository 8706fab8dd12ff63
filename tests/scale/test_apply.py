"""DuckDB and Spark derive what the reasoner predicts: pairs, scores, probabilities and order."""

from functools import partial

import numpy as np
import pytest
import weighted_samples

from neurallp.io.triples import write_triples
from neurallp.io.triples.packed import open_packed, pack
from neurallp.reasoning.calibration import Calibration
from neurallp.reasoning.reasoner import Reasoner
from neurallp.scale.apply import Application, Options
from neurallp.scale.engines import open_engine
from neurallp.scale.queries import Wanted

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")

CALIBRATION = Calibration(
    (-9.0, -2.0, 0.5, 6.0),
    (0.4, 0.2, 0.9, 0.1, 0.6, 0.3, 0.7, 0.5, -0.2),
    {"r": (-0.5, -1.0, -2.0)},
    (-0.1, -0.2, -0.3),
    3.0,
)


def sample(folder, seed, excludes_linked=False):
    plain = weighted_samples.random_kb(seed, 22)
    write_triples(folder / "facts.tsv", plain.named_facts())
    pack(folder / "facts.tsv", folder / "packed")
    return open_packed(folder / "packed"), weighted_samples.random_rules(plain, seed, excludes_linked)


def read(application, query):
    path = application.path_of(query)
    return parquet.read_table(path).to_pylist()


def expected(kb, weighted, calibration, query, wanted):
    reasoner = Reasoner(kb, weighted, calibration=calibration)
    name = weighted.relations.operator_name(query)
    (found,) = reasoner.predict([name], wanted.k, known=wanted.known)
    heads, tails = found.ends
    return found, [(kb.entities[h], kb.entities[t]) for h, t in zip(heads, tails, strict=True)]


def check(application, kb, weighted, calibration, wanted):
    for query in application.options.queries:
        found, pairs = expected(kb, weighted, calibration, query, wanted)
        rows = read(application, query)
        assert [(row["head"], row["tail"]) for row in rows] == pairs
        assert [row["score"] for row in rows] == pytest.approx(found.scores.tolist(), abs=1e-9)
        assert [row["known"] for row in rows] == found.is_known.tolist()
        if calibration is not None:
            new = ~found.is_known
            told = np.array([row["probability"] for row in rows], dtype=object)
            assert told[new].tolist() == pytest.approx(found.probabilities[new].tolist(), abs=1e-9)


@pytest.mark.parametrize(
    ("seed", "excludes_linked", "wanted"),
    [(0, False, Wanted(3)), (1, True, Wanted(20)), (2, False, Wanted(20, known=True))],
)
def test_duckdb_gives_what_the_reasoner_predicts(tmp_path, seed, excludes_linked, wanted):
    kb, weighted = sample(tmp_path, seed, excludes_linked)
    options = Options(tuple(range(6)), wanted)
    application = Application(weighted, kb, CALIBRATION, tmp_path / "out", options)
    application.run(partial(open_engine, "duckdb", memory="500MB"))
    check(application, kb, weighted, CALIBRATION, wanted)
