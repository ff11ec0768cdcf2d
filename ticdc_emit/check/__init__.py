"""Whether a consumer survives TiCDC, and why not (extra ``strategies``)."""

from ticdc_emit.errors import importing

with importing("ticdc_emit.check needs hypothesis", extra="strategies", package="hypothesis"):
    import hypothesis  # noqa: F401

from ticdc_emit.check.run import Failure, Outcome, Verdict, check

__all__ = ["Failure", "Outcome", "Verdict", "check"]
