"""HTTP as this library uses it: bounded requests to one server, whose answers cannot redirect them elsewhere.

:mod:`~ticdc_emit.web.address` holds the server's address and the credentials, :mod:`~ticdc_emit.web.exchange` sends
requests. A registry client and a reader of its schemas use both. Neither module interprets an answer.
"""
