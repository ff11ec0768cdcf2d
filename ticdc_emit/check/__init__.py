"""Whether a consumer survives TiCDC, and why not (extra ``strategies``)."""

from ticdc_emit import strategies  # noqa: F401 - first, because it says what to install
