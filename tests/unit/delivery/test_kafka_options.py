"""No option of Kafka is read and then ignored: each field of the config's records reaches the sink, or has a reason."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

from ticdc_emit.config import GssapiConfig, KafkaConfig, OAuthConfig, SaslConfig, TlsConfig

DELIVERY = Path(__file__).parents[3] / "ticdc_emit" / "delivery"
RECORDS = (KafkaConfig, TlsConfig, SaslConfig, GssapiConfig, OAuthConfig)
ELSEWHERE = {
    "KafkaConfig.topic": "routing sends events without a dispatcher to it",
    "KafkaConfig.kafka_version": "librdkafka negotiates it",
    "KafkaConfig.max_retry": "librdkafka retries until the delivery timeout",
    "GssapiConfig.password": "a login with a password is refused (auth_type)",
}


def used_fields() -> set[str]:
    names = {record.__name__ for record in RECORDS}
    used = set()
    for path in DELIVERY.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            records = {}
            for parameter in (*function.args.args, *function.args.kwonlyargs):
                annotation = ast.unparse(parameter.annotation).partition(" |")[0] if parameter.annotation else ""
                if annotation in names:
                    records[parameter.arg] = annotation
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in records:
                    used.add(f"{records[node.value.id]}.{node.attr}")
    return used


def test_every_option_of_kafka_is_used_or_has_a_reason() -> None:
    declared = {f"{record.__name__}.{each.name}" for record in RECORDS for each in fields(record)}
    assert declared - used_fields() == set(ELSEWHERE)
