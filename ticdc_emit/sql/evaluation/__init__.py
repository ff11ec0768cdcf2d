"""The kernels of functions and operators over Arrow, with TiDB's results; ``sql/functions.py`` lists them."""
