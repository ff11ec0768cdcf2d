"""A TiDB with TiCDC for tests: :class:`Emulator` in Python, :class:`ControlServer` over HTTP (extra ``serve``)."""
