"""Faults under a running changefeed: a harness (``python -m tests.faults.chaos``) and the tests of it."""
