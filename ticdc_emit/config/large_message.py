"""Read ``[sink.kafka-config.large-message-handle]``; refuse what TiCDC refuses.

Rules: ``pkg/config/large_message.go`` and ``SinkConfig.validateAndAdjust`` of pingcap/tiflow.
"""

from __future__ import annotations

from ticdc_emit.config.document import Section
from ticdc_emit.config.gotext import GoSyntaxError, parse_bool
from ticdc_emit.config.merge import UriParameters
from ticdc_emit.config.options import LargeMessageHandle
from ticdc_emit.config.protocol import WRITTEN, Protocol
from ticdc_emit.config.refusal import refused
from ticdc_emit.config.secrets import Secret
from ticdc_emit.config.switches import OptionSwitches
from ticdc_emit.config.traits import Given
from ticdc_emit.errors import ConfigError

__all__ = ["read_large_message_handle"]

_COMPRESSIONS = frozenset({"none", "snappy", "lz4"})


def read_large_message_handle(
    uri: UriParameters, kafka: Section | None, protocol: Protocol, switches: OptionSwitches
) -> LargeMessageHandle:
    """``[sink.kafka-config.large-message-handle]``, refused where TiCDC refuses it.

    As in the reference, the TiDB extension counts here only if the URI switches it on.
    """
    table = kafka.table("large-message-handle") if kafka else None
    if table is None:
        return LargeMessageHandle()
    storage = table.text("claim-check-storage-uri")
    handle = LargeMessageHandle(
        option=table.text("large-message-handle-option") or "none",
        compression=table.text("large-message-handle-compression") or "none",
        claim_check_storage_uri=Secret(storage) if storage else None,
        claim_check_raw_value=bool(table.boolean("claim-check-raw-value")),
    )
    extension = _uri_extension(uri)
    if handle.compression not in _COMPRESSIONS:
        raise _replica_refused(
            f"large message handle compression is not supported, got {handle.compression}",
            "large-message-handle-compression",
            "Use none, snappy or lz4",
        )
    if handle.disabled:
        return handle
    option = "large-message-handle-option"
    if switches.large_message_options == "known" and not (handle.claim_check or handle.handle_key_only):
        raise _replica_refused(
            f"unknown large-message-handle-option {handle.option}", option, "Use none, claim-check or handle-key-only"
        )
    setting = f"large message handle is set to {handle.option}, protocol is {protocol}"
    traits = protocol.traits
    if traits.large_messages is Given.NEVER:
        handling = [each.value for each in WRITTEN if each.traits.large_messages is not Given.NEVER]
        raise _replica_refused(f"{setting}, it's not supported", option, f"Remove it, or use {' or '.join(handling)}")
    if not traits.large_messages.holds(extension=extension):
        raise _replica_refused(
            f"{setting}, but enable-tidb-extension is false", option, "Add enable-tidb-extension=true to the sink URI"
        )
    if handle.claim_check and not storage:
        raise _replica_refused(
            "large message handle is set to claim-check, but the claim-check-storage-uri is empty",
            "claim-check-storage-uri",
            "Set claim-check-storage-uri",
        )
    if handle.claim_check and handle.claim_check_raw_value and not traits.raw_claims:
        raise _replica_refused(
            f"large message handle is set to claim-check, raw value is not supported for the "
            f"{protocol.value.removesuffix('-protocol')} protocol",
            "claim-check-raw-value",
        )
    return handle


def _uri_extension(uri: UriParameters) -> bool:
    text = uri.text("enable-tidb-extension")
    if not text:
        return False
    try:
        return parse_bool(text)
    except GoSyntaxError as error:
        # the only refusal for which TiCDC gives no error code
        raise ConfigError(str(error), remedy="Give true or false", option="enable-tidb-extension") from None


def _replica_refused(cause: str, option: str, remedy: str = "") -> ConfigError:
    return refused("ErrInvalidReplicaConfig", cause, option=option, remedy=remedy)
