"""One random change of a real tool, and exactly the findings that it must yield: `make mutations`.

`kinds` and `equivalents` are the tables: what is done to a schema, and what must be reported. `sites` finds where in a
tool it can be done, `trials` does it and compares, and `acceptance` checks with jsonschema that the tables are right.
"""
