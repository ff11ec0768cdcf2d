"""How a changefeed shows its progress (``reports``), and the HTML page of messages (``page``)."""
