"""The registration request, byte for byte: as the vectors' registry received it, and what Go escapes."""

from __future__ import annotations

import json

import pytest

from ticdc_emit.errors import SchemaError
from ticdc_emit.registry.confluent import registration_request


@pytest.mark.parametrize(
    ("subject", "path"),
    [
        ("topic-key", "/subjects/topic-key/versions"),
        ("a b+c-key", "/subjects/a+b%2Bc-key/versions"),
        ("a/b?c#d&e=f%-key", "/subjects/a%2Fb%3Fc%23d%26e%3Df%25-key/versions"),
        ("Az09-_.~*'()!:;@$,-key", "/subjects/Az09-_.~%2A%27%28%29%21%3A%3B%40%24%2C-key/versions"),
        ("表é-value", "/subjects/%E8%A1%A8%C3%A9-value/versions"),
    ],
)
def test_subjects_are_escaped_as_go_escapes_a_query(subject: str, path: str) -> None:
    assert registration_request(subject, "{}").path == path


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        ('{"doc":"a<b>&c"}', b'{"schema":"{\\"doc\\":\\"a\\u003cb\\u003e\\u0026c\\"}"}'),
        (r'{"doc":"\u003c"}', b'{"schema":"{\\"doc\\":\\"\\\\u003c\\"}"}'),
        ('{"doc":"\u2028\u2029é\x7f"}', b'{"schema":"{\\"doc\\":\\"\\u2028\\u2029\xc3\xa9\x7f\\"}"}'),
        ('{"doc":"表😀"}', '{"schema":"{\\"doc\\":\\"表😀\\"}"}'.encode()),
        (r'{"doc":"\\\""}', b'{"schema":"{\\"doc\\":\\"\\\\\\\\\\\\\\"\\"}"}'),
    ],
)
def test_the_body_is_escaped_as_encoding_json_does(schema: str, body: bytes) -> None:
    assert registration_request("s", schema).body == body


def test_white_space_goes_between_tokens_only() -> None:
    spaced = '\r\n{ "a b" :\t[ 1 , "c\\" : , d" , "\\\\" , 1.50e+1 ] }\n'
    body = json.loads(registration_request("s", spaced).body)
    assert body == {"schema": '{"a b":[1,"c\\" : , d","\\\\",1.50e+1]}'}


@pytest.mark.parametrize("text", ["", "{", '{"a":NaN}', '{"a":1}}', "record"])
def test_a_text_that_is_no_json_is_refused_by_its_subject(text: str) -> None:
    with pytest.raises(SchemaError, match="not JSON") as refused:
        registration_request("topic-value", text)
    assert refused.value.subject == "topic-value"
