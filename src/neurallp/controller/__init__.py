"""The recurrent controller: from a query to attention over operators and memories (eqs. 9-11)."""
