"""Schema registries. Clients are imported when first used, and httpx, tenacity and boto3 when one is made."""
