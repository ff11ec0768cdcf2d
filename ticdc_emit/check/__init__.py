"""Whether a consumer survives TiCDC: what it is given, what it must end with, and why it does not."""
