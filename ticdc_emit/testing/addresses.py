"""Addresses of servers of this process and its children: their text in URLs and Kafka's settings, and free ports."""

from __future__ import annotations

import contextlib
import errno
import socket
from typing import TypeAlias

from ticdc_emit.errors import ConfigError

Address: TypeAlias = "tuple[str, int]"

LOOPBACK = "127.0.0.1"

EVERY_ADDRESS = ("", "0.0.0.0", "::")
"""Hosts that stand for all addresses of this machine."""


def address_text(host: str, port: int) -> str:
    """Return ``host:port``; an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reached_here(host: str) -> str:
    """Return the host by which this machine reaches a server that listens on ``host``."""
    return LOOPBACK if host in EVERY_ADDRESS else host


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]


def require_free_port(port: int, option: str, host: str = LOOPBACK) -> None:
    """Raise :class:`~ticdc_emit.errors.ConfigError` if something listens on a port of this machine; 0: any free one."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        # a socket that was closed a minute ago does not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                remedy = "Give one of its addresses, such as 127.0.0.1, or 0.0.0.0 for all"
                raise ConfigError(f"{host} is not an address of this machine", remedy=remedy, option="host") from None
            raise unusable(f"port {port}", option, error) from None


def unusable(place: str, option: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"{place} cannot be used: {error.strerror or error}",
        remedy=f"Stop the program that uses it, or choose another port with {option}",
        option=option.lstrip("-"),
    )
