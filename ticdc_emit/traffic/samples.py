"""An old path: import these names from :mod:`ticdc_emit.traffic`."""

from ticdc_emit.exports import moved

__getattr__ = moved(
    __name__,
    ("sample_names", "sample_schema", "schema_text"),
    home="ticdc_emit.traffic.sample_schemas",
    public="ticdc_emit.traffic",
)
