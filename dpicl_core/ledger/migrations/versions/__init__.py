"""One module for each version of the schema, in order. A released one is never edited."""
