"""The rules by which TiDB gives the results of functions their types; ``sql/functions.py`` lists them."""
