"""The command line: ``ticdc-emit`` and ``python -m ticdc_emit``. See ``docs/cli.md``."""
