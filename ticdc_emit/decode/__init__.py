"""Readers of the messages, for round trips and for consumers: they share no code with the encoders.

Nothing here imports ``protocols``, ``columnar`` or ``encode``, so an error in one is not repeated in the other.
"""

from ticdc_emit.decode.avro import AvroReader, AvroRow
from ticdc_emit.decode.checksum import verify_checksum
from ticdc_emit.decode.errors import ChecksumMismatchError, DecodeError
from ticdc_emit.decode.schemas import RegistrySchemas, SchemaSource

__all__ = [
    "AvroReader",
    "AvroRow",
    "ChecksumMismatchError",
    "DecodeError",
    "RegistrySchemas",
    "SchemaSource",
    "verify_checksum",
]
