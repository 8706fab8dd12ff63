"""Knowledge bases: names, facts, questions, and the operators M_R."""
