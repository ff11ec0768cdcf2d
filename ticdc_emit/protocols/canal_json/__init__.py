"""Canal-JSON: one JSON object per row change, DDL or watermark."""
