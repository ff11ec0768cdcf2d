"""The changes of a plan as Arrow batches, made in this process: :mod:`.changes` is the way in.

In: the Spark SQL that describes a plan's changes. Out: the same values as Spark's, column by column. There is one
description of the traffic, so the two engines cannot drift apart in anything but the functions in :mod:`.functions`.
"""
