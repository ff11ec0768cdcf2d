"""No secret is shown: not by a repr, an error, a warning, a log line, nor through a path that fails."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import logging
import pickle
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.config import Secret, load_changefeed, mask_text, mask_uri
from ticdc_emit.config.binding import UriParameters
from ticdc_emit.config.secrets import foreign_text, hide, printable, shown_names
from ticdc_emit.errors import ConfigError

CANARY = "cAnArY77"
AVRO = (
    f"kafka://user:{CANARY}@h1:9092,h2:9092/topic?protocol=avro&sasl-mechanism=plain&sasl-user=me&sasl-password={CANARY}"
    f"&schema-registry={quote(f'https://api:{CANARY}@registry:8081/?token={CANARY}', safe='')}"
    f"&sasl-gssapi-password={CANARY}&key=/{CANARY}&ca=/ca&cert=/cert&x-access-token={CANARY}"
)
FILE = f"""
[sink.kafka-config]
sasl-password = "{CANARY}"
sasl-gssapi-password = "{CANARY}"
key = "/{CANARY}"
[sink.kafka-config.large-message-handle]
large-message-handle-option = "claim-check"
claim-check-storage-uri = "s3://bucket/x?access-key={CANARY}&secret-access-key={CANARY}"
"""


def test_secret_shows_nothing_and_keeps_its_value() -> None:
    secret = Secret(CANARY)
    for text in (repr(secret), str(secret), f"{secret}", f"{secret:>20}", "%s %r" % (secret, secret)):  # noqa: UP031
        assert CANARY not in text
    assert secret.reveal() == CANARY
    assert pickle.loads(pickle.dumps(secret)) == secret == copy.deepcopy(secret)
    assert hash(secret) == hash(Secret(CANARY))
    assert secret != Secret("other")
    assert secret != CANARY
    with pytest.raises(AttributeError):
        secret._value = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        json.dumps(secret)


@pytest.mark.parametrize(
    ("uri", "masked"),
    [
        ("kafka://h:9092/t?protocol=avro&sasl-password=x", "kafka://h:9092/t?protocol=avro&sasl-password=****"),
        ("http://user:pw@h:8081", "http://****@h:8081"),
        ("http://user:p/w?d@h:8081/x?y=1", "http://****@h:8081/x?y=1"),
        ("http://user:pw=@h:8081/x", "http://****@h:8081/x"),
        ("http://user:a=b@c/d@h:8081/x", "http://****@h:8081/x"),
        ("user:pw@h:8081", "****@h:8081"),
        ("s3://b/p?Access-Key=1&endpoint=e&sig=2", "s3://b/p?Access-Key=****&endpoint=e&sig=****"),
        ("k://h/t?r=http%3A%2F%2Fu%3Ap%40r%2F", "k://h/t?r=http://****@r/"),
        ("k://h/t?r=http%3A%2F%2Fr%2F&b", "k://h/t?r=http%3A%2F%2Fr%2F&****"),
        ("k://h/t?r=u%3Ap%40r", "k://h/t?r=****@r"),
        ("k://h/t?r=%2Fp%3Ftoken%3Dx", "k://h/t?r=/p?token=****"),
        ("k://h/t?a=1#rest", "k://h/t?a=1#****"),
        ("kafka://u:X%40h:1/t?a=b%40c", "kafka://****@h:1/t?a=****@c"),
        ("kafka://u:X%2540h:1/t", "kafka://****@h:1/t"),
        ("http://u:a%40b/c@h:1/x", "http://****@h:1/x"),
        ("http://h/x%40y", "http://h/x%40y"),
        ("k://h/t?r=http%253A%252F%252Fu%253AX%2540r%252F", "k://h/t?r=****@r%252F"),
        ("k://h/t?r=http%253A%252F%252Fr%252F%253Ftoken%253DX", "k://h/t?r=http://r/?token=****"),
        ("k://h/t?r=" + "%25" * 9 + "2525252525252540", "k://h/t?r=****@"),
        ("k://h/t?password=a&X=y&X2&protocol=avro&b=1", "k://h/t?password=****&****&****&protocol=avro&b=1"),
        ("k://h/t?password=a&X-key=y", "k://h/t?password=****&****"),
        ("k://h/t", "k://h/t"),
        ("", ""),
    ],
)
def test_mask_uri(uri: str, masked: str) -> None:
    assert mask_uri(uri) == masked


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Passwd",
        "pwd",
        "access-key",
        "x-token",
        "client_secret",
        "oauth-client",
        "key",
        "signature",
        "credential",
        "private",
    ],
)
def test_mask_uri_names(name: str) -> None:
    assert mask_uri(f"k://h/t?{name}={CANARY}") == f"k://h/t?{name}=****"


def test_mask_text() -> None:
    text = f'GET http://u:{CANARY}@r/subjects failed, sasl.password={CANARY}, {{"secret": "{CANARY}"}} at topic orders'
    masked = mask_text(text)
    assert CANARY not in masked
    assert "GET http://****@r/subjects failed" in masked
    assert masked.endswith("at topic orders")


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {}",
        "Authorization: Basic {}==",
        "{{'authorization': 'Basic {}'}}",
        "Proxy-Authorization=Digest {}",
        "curl -H Bearer {}",
        '{{"password": "a\\"{}"}}',
        "{{'password': 'a\\'{}'}}",
        '"{{\\"password\\": \\"a{}\\"}}"',
        '"{{\\"password\\": \\"a\\\\\\"{}\\"}}"',
        'password="{}',
        'password = a"{}',
        "a=password={}",
        "sasl.oauthbearer.config: principal=me secret={}",
        "at 1http://u:{}@h",
    ],
)
def test_mask_text_of_what_may_hold_a_secret(text: str) -> None:
    masked = mask_text("before " + text.format(CANARY) + " after")
    assert CANARY not in masked
    assert masked.startswith("before ")


def test_mask_text_leaves_what_is_none() -> None:
    text = "the server wants Basic authentication, a bearer of news; WWW-Authenticate: Basic realm='x' a:b=c"
    assert mask_text(text) == text


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "part", ["a", "key", "a:", "a=", "key=", "://", "a://", '"', "\\", "key\\", "?a=", " ", "%25", "key "]
)
def test_masking_takes_linear_time(part: str) -> None:
    mask_text(part * 100_000)
    mask_uri("k://h/t?" + part * 20_000)
    hide(part * 20_000, ["secret", "key" * 20, "\\\\"])


def test_every_parameter_that_is_read_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()
    text = UriParameters.text
    monkeypatch.setattr(UriParameters, "text", lambda self, name: names.add(name) or text(self, name))
    for more in ("avro&schema-registry=http://r", "simple&sasl-mechanism=gssapi", "simple&enable-tls=true"):
        with contextlib.suppress(ConfigError):
            load_changefeed(f"kafka://h:1/t?protocol={more}")
    load_changefeed("jsonl:///x?protocol=debezium")
    assert len(names) > 40
    assert shown_names(part for name in sorted(names) for part in ("password", name))[1::2] == sorted(names)


def test_masking_alone_knows_the_declared_parameters() -> None:
    code = "from ticdc_emit.config.secrets import mask_uri; print(mask_uri('kafka://h/t?sasl-password=a&max-message-bytes=1'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "kafka://h/t?sasl-password=****&max-message-bytes=1"


@given(st.text(alphabet="ab:/?#@=&%;, \n[]", max_size=30))
def test_masking_never_raises(text: str) -> None:
    mask_uri(text)
    mask_uri("k://" + text)
    mask_text("at k://" + text)


@given(st.lists(st.sampled_from("/?#=&%;:,"), max_size=6))
def test_an_unescaped_password_in_the_userinfo_is_hidden(separators: list[str]) -> None:
    password = "S" + "".join(f"{separator}S" for separator in separators)
    assert mask_uri(f"k://u:{password}@h:1/t?a=1") == "k://****@h:1/t?a=1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shown = repr(load_changefeed(f"kafka://u:{password}@h:1/t?protocol=simple").sink_uri)
        except ConfigError as error:
            shown = error.message.partition("]")[2]
    assert "S" not in shown.removeprefix("SinkUri")


@given(st.text(st.characters(exclude_characters="&#", codec="utf-8"), min_size=1))
def test_mask_uri_hides_any_password(password: str) -> None:
    assert mask_uri(f"k://h/t?sasl-password={CANARY}{password}") == "k://h/t?sasl-password=****"


def test_a_loaded_config_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        config = load_changefeed(AVRO, FILE.split("[sink.kafka-config.large")[0])
    assert config.kafka.sasl.password == Secret(CANARY)
    assert CANARY in config.codec.schema_registry.reveal()
    shown = [repr(config), str(config), str(dataclasses.asdict(config)), str(config.sink_uri), caplog.text]
    shown += [str(warning.message) for warning in caught]
    assert not [text for text in shown if CANARY in text]
    assert any("x-access-token" in str(warning.message) for warning in caught)
    assert pickle.loads(pickle.dumps(config)) == config


SIMPLE = f"kafka://u:{CANARY}@h:9092/t?protocol=simple&sasl-password={CANARY}&schema-registry=http://u:{CANARY}@r"
REFUSED = Path(__file__).with_name("refused_secrets.txt").read_text(encoding="utf-8").splitlines()
"""URIs, some with a changefeed file, in which secrets are ``CANARY``."""


@pytest.mark.parametrize("line", REFUSED)
def test_a_refusal_shows_nothing(line: str, caplog: pytest.LogCaptureFixture) -> None:
    uri, _, file = line.replace("CANARY", CANARY).replace("\\n", "\n").partition(" | ")
    changefeed = file or None
    with caplog.at_level(logging.DEBUG), pytest.raises(ConfigError) as refusal:
        load_changefeed(uri, changefeed)
    error = refusal.value
    chain = "".join(traceback.TracebackException.from_exception(error).format_exception_only())
    shown = [str(error), repr(error), repr(error.args), repr(error.context), chain, caplog.text]
    assert not [text for text in shown if CANARY in text]
    assert CANARY.encode() not in pickle.dumps(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_an_unescaped_password_is_not_listed_as_an_option() -> None:
    uri = f"kafka://h:9092/t?protocol=simple&sasl-password=a&{CANARY}&b;{CANARY}#{CANARY}"
    with pytest.warns(UserWarning, match="Ignored options") as caught:
        config = load_changefeed(uri)
    assert CANARY not in str(caught[0].message)
    assert CANARY not in repr(config)


@pytest.mark.parametrize(
    "rest", [f"{CANARY}=x", f"{CANARY}", f"{CANARY};=x", f"%zz{CANARY}=1", f"x={CANARY}&{CANARY}=1"]
)
@pytest.mark.parametrize("name", ["sasl-password", "sasl-gssapi-password", "token"])
def test_the_rest_of_an_unescaped_password_is_no_option(name: str, rest: str) -> None:
    with pytest.warns(UserWarning, match="Ignored options") as caught:
        config = load_changefeed(f"kafka://h:9092/t?typo=1&{name}=abc&{rest.replace('{}', CANARY)}&protocol=simple")
    assert CANARY not in str(caught[0].message)
    assert "typo" in str(caught[0].message)
    assert CANARY not in repr(config)
    assert "protocol=simple" in repr(config)


def test_file_with_a_secret_that_is_not_toml(tmp_path: Path) -> None:
    path = tmp_path / "changefeed.toml"
    path.write_bytes(CANARY.encode() + b" = \xff")
    with pytest.raises(ConfigError, match="not UTF-8") as refusal:
        load_changefeed(SIMPLE, path)
    assert CANARY not in str(refusal.value)


def test_what_a_terminal_acts_on_is_escaped() -> None:
    text = "bad \x1b]0;title\x07\x1b[2J\r\nticdc-emit: all sent\t\x7f\x9b31m\x85\u2028\u202e\u2066\udc80 é 表 \\n"
    shown = printable(text)
    assert shown.startswith(r"bad \u001b]0;title\u0007\u001b[2J\r\nticdc-emit: all sent\t\u007f\u009b31m\u0085\u2028")
    assert shown.endswith("é 表 \\n")
    assert shown.isprintable()
    assert printable(text, keep="\n").splitlines()[1].startswith("ticdc-emit")
    assert foreign_text(f"a\npassword={CANARY}") == r"a\npassword=****"
