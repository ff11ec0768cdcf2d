"""A gateway between Kafka clients, Java's too, and librdkafka's mock cluster, with one port for each of its brokers.

All is passed on as it is, but:

- ApiVersions. The mock answers versions above 2 in a form that it is not: Java's client reads a pause of 20 minutes
  from it. It also offers versions that it does not read (JoinGroup 6) or answers in an older form (LeaveGroup 3), and
  one that ends the process (ConsumerGroupHeartbeat). It is asked in version 0, and only :data:`_NEWEST` is offered: the
  newest versions before tagged fields came (KIP-482).
- Fetch. The mock answers a fetch that found nothing when the client's wait is over, also if a message comes meanwhile.
  So the wait is shortened to :data:`_MOST_WAIT_MS`.
- Metadata and FindCoordinator name brokers: they get the addresses that clients can reach.

Layouts: kafka.apache.org/protocol and Kafka's clients/src/main/resources/common/message.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ticdc_emit.testing.addresses import LOOPBACK, Address

_MOST_BYTES = 100 * 1024 * 1024
"""Of a request or a response: Kafka's default of socket.request.max.bytes."""

_FETCH, _METADATA, _FIND_COORDINATOR, _API_VERSIONS = 1, 3, 10, 18
_MOST_WAIT_MS = 50

_NEWEST = {
    0: 8,  # Produce
    _FETCH: 11,
    2: 5,  # ListOffsets
    _METADATA: 8,
    8: 7,  # OffsetCommit
    9: 5,  # OffsetFetch
    _FIND_COORDINATOR: 2,
    11: 5,  # JoinGroup
    12: 3,  # Heartbeat
    13: 2,  # LeaveGroup: version 3 has no tagged fields yet, but the mock leaves out its list of members
    14: 3,  # SyncGroup
    22: 1,  # InitProducerId
    23: 3,  # OffsetForLeaderEpoch
    24: 2,  # AddPartitionsToTxn
    25: 2,  # AddOffsetsToTxn
    26: 2,  # EndTxn
    28: 2,  # TxnOffsetCommit
}
"""The newest version that clients are offered, by key; requests that are not listed are not offered."""

_NEWEST_API_VERSIONS = 4
_FIRST_WITH_TAGS = 3
_UNSUPPORTED_VERSION = 35

_Rewrite = Callable[[bytes], bytes]


@dataclass(frozen=True)
class _Listener:
    """``told``: the host and port that clients are told, each ``None`` for those that the client used."""

    broker: Address
    server: asyncio.Server
    told: tuple[str | None, int | None]

    @property
    def port(self) -> int:
        return int(self.server.sockets[0].getsockname()[1])


class KafkaGateway:
    """Listens at ``port`` for the first broker, at any free port for others. ``advertised``: told to clients."""

    def __init__(
        self, brokers: Sequence[str], *, host: str = LOOPBACK, port: int = 0, advertised: Address | None = None
    ) -> None:
        self._brokers = [(name, int(number)) for name, _, number in (each.rpartition(":") for each in brokers)]
        self._host, self._port = host, port
        self._advertised = advertised or (None, None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._listeners: list[_Listener] = []
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._listeners[0].port

    def start(self) -> None:
        """Raise :class:`OSError` if the address cannot be used."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kafka-gateway", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    async def _listen(self) -> None:
        host, port = self._advertised
        for number, broker in enumerate(self._brokers):
            own, told = (self._port, (host, port)) if number == 0 else (0, (host, None))
            server = await asyncio.start_server(self._accept, self._host, own)
            self._listeners.append(_Listener(broker, server, told))

    async def _close(self) -> None:
        for listener in self._listeners:
            listener.server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        self._listeners.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # a client that is gone, a mock that is gone, another protocol: the connection ends
            with suppress(OSError, EOFError, ValueError, struct.error, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = writer.get_extra_info("sockname")[:2]
        (listener,) = (each for each in self._listeners if each.port == port)
        told = {each.broker: (each.told[0] or host, each.told[1] or each.port) for each in self._listeners}
        broker_reader, broker_writer = await asyncio.open_connection(*listener.broker)
        rewrites: dict[int, _Rewrite] = {}
        both = (
            asyncio.ensure_future(_pass_requests(reader, broker_writer, rewrites, told)),
            asyncio.ensure_future(_pass_responses(broker_reader, writer, rewrites)),
        )
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
            broker_writer.close()


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    if not 0 <= size <= _MOST_BYTES:
        raise ValueError(f"a message of {size} bytes")
    return await reader.readexactly(size)


async def _write_frame(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(struct.pack(">i", len(frame)))
    writer.write(frame)
    await writer.drain()


async def _pass_requests(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    rewrites: dict[int, _Rewrite],
    told: dict[Address, Address],
) -> None:
    while True:
        request = await _read_frame(reader)
        key, version, correlation = struct.unpack_from(">hhi", request)
        if key == _API_VERSIONS:
            request = struct.pack(">hhih", key, 0, correlation, -1)
            rewrites[correlation] = _api_versions_in(version)
        elif version > _NEWEST.get(key, -1):
            raise ValueError(f"version {version} of request {key} was not offered")
        elif key == _FETCH:
            request = _fetch_soon(request)
        elif key in (_METADATA, _FIND_COORDINATOR):
            rewrites[correlation] = _with_addresses(told, key, version)
        await _write_frame(writer, request)


async def _pass_responses(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rewrites: dict[int, _Rewrite]
) -> None:
    while True:
        response = await _read_frame(reader)
        (correlation,) = struct.unpack_from(">i", response)
        rewrite = rewrites.pop(correlation, None)
        await _write_frame(writer, response if rewrite is None else rewrite(response))


def _fetch_soon(request: bytes) -> bytes:
    place = _after_text(request, 8) + 4  # the client's id, and the replica's
    (wait,) = struct.unpack_from(">i", request, place)
    return request[:place] + struct.pack(">i", min(wait, _MOST_WAIT_MS)) + request[place + 4 :]


def _api_versions_in(version: int) -> _Rewrite:
    def rewrite(response: bytes) -> bytes:
        """Of version 0: correlation, error, and of each request its key, oldest and newest version."""
        correlation, error, count = struct.unpack_from(">ihi", response)
        offered = [(_API_VERSIONS, 0, _NEWEST_API_VERSIONS)]
        for key, oldest, newest in struct.iter_unpack(">hhh", response[10 : 10 + 6 * count]):
            if oldest <= _NEWEST.get(key, -1):
                offered.append((key, oldest, min(newest, _NEWEST[key])))
        if not 0 <= version <= _NEWEST_API_VERSIONS:
            error = _UNSUPPORTED_VERSION  # answered in version 0 (KIP-511)
        tagged = not error and version >= _FIRST_WITH_TAGS
        ranges = b"".join(struct.pack(">hhh", *each) + (b"\0" if tagged else b"") for each in sorted(offered))
        if tagged:
            return struct.pack(">ihB", correlation, error, len(offered) + 1) + ranges + b"\0\0\0\0\0"
        throttle = b"\0\0\0\0" if not error and version >= 1 else b""
        return struct.pack(">ihi", correlation, error, len(offered)) + ranges + throttle

    return rewrite


def _with_addresses(told: dict[Address, Address], key: int, version: int) -> _Rewrite:
    def rewrite(response: bytes) -> bytes:
        """Of a coordinator, one broker without a rack; of metadata, a list of them."""
        of_all, count = key == _METADATA, 1
        position = 8 if version >= (3 if of_all else 1) else 4  # correlation, time to wait
        if of_all:
            (count,) = struct.unpack_from(">i", response, position)
            position += 4
        else:
            position = _after_text(response, position + 2) if version >= 1 else position + 2  # error
        parts, start = list[bytes](), 0
        for _ in range(count):
            broker, end = _told_address(response, position + 4, told)
            parts += [response[start : position + 4], broker]
            start, position = end, _after_text(response, end) if of_all and version >= 1 else end
        return b"".join([*parts, response[start:]])

    return rewrite


def _after_text(response: bytes, position: int) -> int:
    """Return the place after a text that may be null."""
    (length,) = struct.unpack_from(">h", response, position)
    return int(position + 2 + max(length, 0))


def _told_address(response: bytes, position: int, told: dict[Address, Address]) -> tuple[bytes, int]:
    """Return a broker's host and port at ``position`` as clients are told them, and their end in the response."""
    (length,) = struct.unpack_from(">h", response, position)
    host = response[position + 2 : position + 2 + length].decode()
    (port,) = struct.unpack_from(">i", response, position + 2 + length)
    name, number = told.get((host, port), (host, port))
    return struct.pack(">h", len(name.encode())) + name.encode() + struct.pack(">i", number), position + 6 + length
