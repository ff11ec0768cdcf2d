"""An old path: import these names from :mod:`ticdc_emit.spark`."""

from ticdc_emit.exports import moved

__getattr__ = moved(
    __name__,
    ("BatchProgress", "ProgressListener", "log_progress"),
    home="ticdc_emit.spark.listener",
    public="ticdc_emit.spark",
)
