"""DDL as TiCDC sends it: a statement's text in, TiDB's canonical form of it out.

Rule source: TiCDC classic ``cdc/owner/ddl_sink.go`` (``addSpecialComment``), the new architecture's
``logservice/schemastore/utils.go`` (``transformDDLJobQuery``): both parse the text of a TiDB job and print its tree.
"""

from __future__ import annotations

from ticdc_emit.config import Profile
from ticdc_emit.errors import DdlError, UnprintableDdlError
from ticdc_emit.schema.dialect import restored_statements

__all__ = ["restore_ddl"]


def restore_ddl(
    query: str,
    *,
    sql_mode: str = "",
    profile: str | Profile = "classic",
    charset: str = "utf8mb4",
) -> str:
    """Return ``query`` as TiCDC writes it on the wire: TiDB's canonical form.

    Placement policies are left out and TTL is off, as a changefeed sends them; a statement that changes nothing else
    is "". ``sql_mode``: the session's, as in SET SQL_MODE. ``charset``: the session's, which TiDB keeps for
    CREATE INDEX and ADD INDEX alone. ``profile``: classic accepts one statement, next several with ``;`` between.
    Raises ``DdlError`` with ``statement`` and ``position`` if TiDB's parser fails, and ``UnprintableDdlError`` if
    TiDB cannot print the statement.
    """
    several = Profile.parse(profile).ddl.several_statements
    try:
        statements = restored_statements(query, sql_mode, charset)
    except UnprintableDdlError as error:
        context = {"statement": query, **error.context}
        raise UnprintableDdlError(error.message, remedy=error.remedy, **context) from None
    if not statements or (len(statements) > 1 and not several):
        what = "no statement" if not statements else f"{len(statements)} statements"
        raise DdlError(
            f"expected one DDL statement, found {what}",
            remedy="Give each statement its own commit_ts",
            statement=query,
            position=0,
        )
    return ";".join(statements)
