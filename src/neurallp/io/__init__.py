"""Reading and writing files: triples, rules, models, questions and predictions."""
