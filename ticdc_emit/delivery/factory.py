"""An old path: import it from :mod:`ticdc_emit.delivery`."""

from ticdc_emit.exports import moved

__getattr__ = moved(__name__, ("sink_for",), home="ticdc_emit.delivery.sinks", public="ticdc_emit.delivery")
