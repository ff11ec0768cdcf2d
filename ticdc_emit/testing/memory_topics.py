"""Topics in this process's memory, for tests: what a changefeed or a sink wrote, by topic-partition."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_PARTITION_NUM
from ticdc_emit.config.protocols import protocol_parameters
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.memory import MemorySink, clear, messages


class MemoryTopics:
    """A context manager around an in-memory store that is emptied at the end."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or f"topics-{uuid4()}"

    def __repr__(self) -> str:
        return f"<MemoryTopics {self.name}>"

    def sink(
        self,
        *,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        auto_create_topic: bool = True,
        new_partitions: int = DEFAULT_PARTITION_NUM,
    ) -> MemorySink:
        """Return a sink into these topics, with the options of :class:`MemorySink`."""
        return MemorySink(self.name, max_message_bytes, auto_create_topic, new_partitions)

    def sink_uri(self, **parameters: Any) -> str:
        """Return a sink URI of these topics, its parameters written with underscores: ``protocol="canal-json"``."""
        texts = {name.replace("_", "-"): str(value) for name, value in parameters.items()}
        texts = {name: text.lower() if text in ("True", "False") else text for name, text in texts.items()}
        if "protocol" in texts:
            texts = protocol_parameters(texts["protocol"]) | {n: v for n, v in texts.items() if n != "protocol"}
        return f"memory://{self.name}/?{urlencode(texts)}"

    def messages(self, topic: str | None = None) -> list[Message]:
        """Return all messages so far, or those of one topic, by topic, partition and offset."""
        return messages(self.name, topic)

    def clear(self) -> None:
        """Delete topics and messages."""
        clear(self.name)

    def __enter__(self) -> MemoryTopics:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
