"""An old path: import these names from :mod:`ticdc_emit.delivery`."""

from ticdc_emit.exports import moved

__getattr__ = moved(__name__, ("Claim", "ClaimStore"), home="ticdc_emit.delivery.claims", public="ticdc_emit.delivery")
