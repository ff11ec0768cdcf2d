"""ENCODE: rows in total order become messages, and chunks of them; bad rows are told apart."""
