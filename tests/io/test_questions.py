import gzip

import pytest

from neurallp import FormatError, WordQuestion, load_questions


def test_questions_come_with_their_answers_and_the_types_of_a_second_file(tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text("who wrote [Rio]\tAnna|Bob\n\nwho wrote it\tCarl\n", encoding="utf-8")
    first, second = load_questions(path)
    assert first == WordQuestion("who wrote [Rio]", ("Anna", "Bob"))
    assert second == WordQuestion("who wrote it", ("Carl",))
    (tmp_path / "some_qtype.txt").write_text("one\ntwo\n")
    assert [question.kind for question in load_questions(path)] == ["one", "two"]


def test_a_type_may_be_the_third_field_of_a_line(tmp_path):
    path = tmp_path / "some.tsv"
    path.write_text("who wrote [Rio]\tAnna\tmovie_to_writer\n")
    assert load_questions(path)[0].kind == "movie_to_writer"


def test_one_error_lists_every_faulty_line(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("who\nwho wrote [Rio]\tAnna\nwhat\t\n")
    with pytest.raises(FormatError, match=r"bad\.tsv:1: expected.*\n.*bad\.tsv:3: expected"):
        load_questions(path)
    path.write_bytes(b"who\xff\tAnna")
    with pytest.raises(FormatError, match="not UTF-8"):
        load_questions(path)
    path.write_text("\n")
    with pytest.raises(FormatError, match="no questions"):
        load_questions(path)


def test_compressed_files_have_the_same_questions_and_types(tmp_path):
    (tmp_path / "some.tsv.gz").write_bytes(gzip.compress(b"who wrote [Rio]\tAnna\n", mtime=0))
    (tmp_path / "some_qtype.txt.gz").write_bytes(gzip.compress(b"one\n", mtime=0))
    assert load_questions(tmp_path / "some.tsv.gz") == [WordQuestion("who wrote [Rio]", ("Anna",), "one")]


def test_a_file_of_types_must_have_one_for_each_question(tmp_path):
    (tmp_path / "some.tsv").write_text("who wrote [Rio]\tAnna\n")
    (tmp_path / "some_qtype.txt").write_text("one\ntwo\n")
    with pytest.raises(FormatError, match=r"2 types for the 1 questions of some\.tsv"):
        load_questions(tmp_path / "some.tsv")


def test_a_line_of_too_many_fields_is_refused(tmp_path):
    (tmp_path / "some.tsv").write_text("who wrote [Rio]\tAnna\tone\ttwo\n")
    with pytest.raises(FormatError, match=r"some\.tsv:1: expected a question, a tab and answers"):
        load_questions(tmp_path / "some.tsv")
