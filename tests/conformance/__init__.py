"""Conformance: the library against golden vectors, byte for byte.

In: vector files (TiCDC's own output for recorded events, see ``README.md``). Out: a report of what matched, what
differs and where, and what this version leaves out. ``python -m tests.conformance`` runs it. The package imports
itself by relative names, so that ``python -m conformance`` runs it from the archive of the vectors, too.
"""
