"""The sample schemas by name: ``schemas/*.sql`` beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from ticdc_emit.errors import SchemaError
from ticdc_emit.hints import did_you_mean

_SUFFIX = ".sql"


def sample_names() -> tuple[str, ...]:
    """Return the names of the sample schemas, in order."""
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def sample_schema(name: str) -> str:
    """Return the SQL text of the sample called ``name`` (``bank``); :class:`SchemaError` for an unknown name."""
    if name not in sample_names():
        raise SchemaError(
            f"there is no sample schema {name!r}",
            remedy=f"{did_you_mean(name, sample_names())}Samples: {', '.join(sample_names())}",
            schema=name,
        )
    return (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def schema_text(schema: str | Path) -> str:
    """Return ``schema`` if it is SQL, else the text of the file or sample of this name. Raises :class:`SchemaError`."""
    if isinstance(schema, str) and "(" in schema:
        return schema
    if isinstance(schema, str) and schema in sample_names():
        return sample_schema(schema)
    try:
        return Path(schema).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(
            f"cannot read the schema file: {error}",
            remedy=f"{did_you_mean(str(schema), sample_names())}"
            f"Give a file, SQL text or one of the samples: {', '.join(sample_names())}",
            path=str(schema),
        ) from None


def _folder() -> Path:
    packaged = Path(__file__).parent / "schemas"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "schemas"
