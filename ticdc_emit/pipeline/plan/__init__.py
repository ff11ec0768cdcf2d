"""PLAN: the tables of a changefeed with their encoders, and where their messages go."""
