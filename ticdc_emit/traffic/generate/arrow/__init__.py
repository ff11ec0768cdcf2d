"""The changes of a plan as Arrow batches, made in this process; :mod:`.changes` is the entry point.

In: the Spark SQL that describes a plan's changes. Out: the same values as Spark's, column by column. Both engines share
one description of the traffic, so they can differ only in single functions.
"""
