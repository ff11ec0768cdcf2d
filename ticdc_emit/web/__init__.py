"""HTTP as this library uses it: one server, asked with bounds, that no answer can turn elsewhere.

:mod:`~ticdc_emit.web.address` is where the server is and who asks; :mod:`~ticdc_emit.web.exchange` asks. Both a
registry's client and a reader of its schemas stand on them, and neither knows what an answer means.
"""
