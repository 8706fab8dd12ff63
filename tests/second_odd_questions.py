"""A second table of sixty odd questions, about ten films written by hand, with what a careful reader answers.

Each question has the set of right answers, or None where it should be declined: the question model cannot
know what is asked (no such word, relation or name in what it has learned from). Where a right answer and
declining are both acceptable (other languages, negation, counts, superlatives), the third value is true.
"""

#: title, director, writer, actors, year, genre, language
FILMS = [
    ("Salt Road", "Ines Calder", "Tom Ferrow", "Lila Moss, Ravi Anand", "1982", "Drama", "Spanish"),
    ("Copper Sky", "Ines Calder", "Ines Calder", "Ravi Anand, Juno Park", "1987", "Western", "English"),
    ("The Long Thaw", "Otto Brandt", "Tom Ferrow", "Lila Moss, Edda Klein", "1982", "Drama", "German"),
    ("Night Ferry", "Otto Brandt", "Maya Lund", "Juno Park, Edda Klein", "1991", "Thriller", "German"),
    ("Café Aurore", "Chloé Marchand", "Maya Lund", "Lila Moss, Hugo Blanc", "1995", "Comedy", "French"),
    ("Les Ombres", "Chloé Marchand", "Hugo Blanc", "Hugo Blanc, Edda Klein", "1998", "Horror", "French"),
    ("Zero Hour Zoo", "Pavel Orlov", "Pavel Orlov", "Ravi Anand, Nia Cole", "1991", "Comedy", "English"),
    ("Orlov", "Nia Cole", "Tom Ferrow", "Juno Park", "2001", "Drama", "English"),
    ("Up North", "Ines Calder", "Maya Lund", "Hugo Blanc", "1979", "Western", "Spanish"),
    ("7 Bridges", "Pavel Orlov", "Maya Lund", "Nia Cole, Edda Klein", "2001", "Thriller", "English"),
]
RELATIONS = ("directed_by", "written_by", "starred_actors", "release_year", "has_genre", "in_language")

YES, NO = {"yes"}, {"no"}

#: question, right answers or None for "declined", whether declining is right too
QUESTIONS = [
    # As learned, with other capitals and punctuation
    ("who directed Salt Road", {"Ines Calder"}, False),
    ("WHO DIRECTED COPPER SKY?!", {"Ines Calder"}, False),
    ("who wrote the long thaw", {"Tom Ferrow"}, False),
    ("when did 7 Bridges come out", {"2001"}, False),
    ("what is the genre of zero hour zoo?", {"Comedy"}, False),
    ("list films starring Lila Moss", {"Salt Road", "The Long Thaw", "Café Aurore"}, False),
    ("who directed the films starring Nia Cole", {"Pavel Orlov"}, False),
    ("which films are there that share an actor with Orlov", {"Copper Sky", "Night Ferry"}, False),
    # Typos
    ("who direted Salt Road", {"Ines Calder"}, False),
    ("who directed Salt Raod", {"Ines Calder"}, False),
    ("who wrote Coper Sky", {"Ines Calder"}, False),
    ("films staring Juno Park", {"Copper Sky", "Night Ferry", "Orlov"}, False),
    ("whats the genere of Night Ferry", {"Thriller"}, False),
    ("who acted in Cafe Aurore", {"Lila Moss", "Hugo Blanc"}, False),
    ("wich films did Oto Brandt direct", {"The Long Thaw", "Night Ferry"}, False),
    ("who wrot les ombres", {"Hugo Blanc"}, False),
    # Bare phrases
    ("director of Orlov", {"Nia Cole"}, False),
    ("Night Ferry writer", {"Maya Lund"}, False),
    ("Copper Sky genre", {"Western"}, False),
    ("language Café Aurore", {"French"}, False),
    ("Salt Road release year", {"1982"}, False),
    ("films Hugo Blanc acted in", {"Café Aurore", "Les Ombres", "Up North"}, False),
    ("Salt Road cast", None, False),
    ("Ines Calder", None, False),
    # Two entities
    ("films starring Ravi Anand and Juno Park", {"Copper Sky"}, False),
    ("which films star Lila Moss and Edda Klein", {"The Long Thaw"}, False),
    ("films directed by Otto Brandt and starring Juno Park", {"Night Ferry"}, False),
    ("who acted in both Night Ferry and The Long Thaw", {"Edda Klein"}, False),
    ("films directed by Ines Calder and written by Tom Ferrow", {"Salt Road"}, False),
    ("who directed Salt Road and Copper Sky", {"Ines Calder"}, False),
    # Yes or no
    ("did Otto Brandt direct Night Ferry", YES, False),
    ("did Otto Brandt direct Copper Sky", NO, False),
    ("is Salt Road a Drama", YES, True),
    ("was Les Ombres written by Hugo Blanc", YES, False),
    ("did Juno Park act in Salt Road", NO, False),
    ("was 7 Bridges released in 2001", YES, True),
    # Years, genres and languages
    ("which movies were released in 1982", {"Salt Road", "The Long Thaw"}, False),
    ("films from 1991", {"Night Ferry", "Zero Hour Zoo"}, True),
    ("which films are there in German", {"The Long Thaw", "Night Ferry"}, True),
    ("list Comedy films", {"Café Aurore", "Zero Hour Zoo"}, True),
    ("who directed the films released in 1987", {"Ines Calder"}, True),
    ("which films came out before 1990", {"Salt Road", "Copper Sky", "The Long Thaw", "Up North"}, True),
    # Nonsense, unknown words and names
    ("banana", None, False),
    ("who ate Salt Road", None, False),
    ("asdf qwer zxcv Copper Sky", None, False),
    ("how tall is Edda Klein", None, False),
    ("???", None, False),
    ("what is the release year of Down South", None, False),
    ("who directed", None, False),
    # Another language
    ("qui a réalisé Les Ombres", {"Chloé Marchand"}, True),
    ("wer hat The Long Thaw geschrieben", {"Tom Ferrow"}, True),
    ("quién dirigió Salt Road", {"Ines Calder"}, True),
    # Negation
    (
        "which films did Ines Calder not direct",
        {"The Long Thaw", "Night Ferry", "Café Aurore", "Les Ombres", "Zero Hour Zoo", "Orlov", "7 Bridges"},
        True,
    ),
    ("films starring Lila Moss but not Edda Klein", {"Salt Road", "Café Aurore"}, True),
    ("who did not act in Salt Road", None, False),
    # Counts and superlatives
    ("how many films did Pavel Orlov direct", {"2"}, True),
    ("how many actors appear in Night Ferry", {"2"}, True),
    ("what is the newest film directed by Otto Brandt", {"Night Ferry"}, True),
    ("which actor appears in the most films", {"Edda Klein"}, True),
    ("the first film that Ravi Anand acted in", {"Salt Road"}, True),
]


def film_facts():
    """Yield the facts of the films."""
    for title, *values in FILMS:
        for relation, names in zip(RELATIONS, values, strict=True):
            yield from ((title, relation, name) for name in names.split(", "))
