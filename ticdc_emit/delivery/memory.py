"""An old path: import these names from :mod:`ticdc_emit.delivery`."""

from ticdc_emit.exports import moved

__getattr__ = moved(
    __name__, ("MemorySink", "clear", "messages"), home="ticdc_emit.delivery.memory_sink", public="ticdc_emit.delivery"
)
