"""Whether a consumer survives TiCDC, and why not (extra ``strategies``)."""

from ticdc_emit import strategies  # noqa: F401 - first, because it says what to install
from ticdc_emit.check.run import Failure, Outcome, Verdict, check

__all__ = ["Failure", "Outcome", "Verdict", "check"]
