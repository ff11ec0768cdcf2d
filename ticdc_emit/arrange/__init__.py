"""ARRANGE: rows read, split, routed and put in the total order; stated here and nowhere else."""
