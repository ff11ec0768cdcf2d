"""``python -m ticdc_emit``: the command line without its script."""

from __future__ import annotations

from ticdc_emit.cli.main import main

if __name__ == "__main__":
    main()
