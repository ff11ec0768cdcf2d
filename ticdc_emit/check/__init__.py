"""Whether a consumer survives TiCDC, and why not (extra ``strategies``)."""

from ticdc_emit.check.run import Failed, Failure, Outcome, Verdict, check

__all__ = ["Failed", "Failure", "Outcome", "Verdict", "check"]
