"""Cron specs of the clean-up job."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ticdc_emit.config.cron import CronTimes
from ticdc_emit.errors import ConfigError


@pytest.mark.parametrize(
    ("spec", "moment"),
    [
        ("0 0 2 * * *", "2024-05-06 02:00:00"),
        ("0 0 2 * *", "2024-05-06 02:00:00"),
        ("@daily", "2024-05-06 00:00:00"),
        ("@hourly", "2024-05-06 17:00:00"),
        ("@weekly", "2024-05-05 00:00:00"),
        ("@yearly", "2024-01-01 00:00:00"),
        ("*/15 3,4 10-12/2 ? May Mon-Fri", "2024-05-06 12:04:45"),
        ("50/5 59 23 29 feb *", "2024-02-29 23:59:55"),
        ("0 0 0 13 * fri", "2024-09-13 00:00:00"),
        ("0 0 0 13 * fri", "2024-05-13 00:00:00"),  # one of the two is enough
        ("0 0 0 13 * fri", "2024-05-17 00:00:00"),
    ],
)
def test_a_time_lies_between(spec: str, moment: str) -> None:
    time = datetime.fromisoformat(moment)
    assert CronTimes.parse(spec).any_between(datetime(2023, 1, 1), time)
    assert not CronTimes.parse(spec).any_between(time, time)
    second = time - timedelta(seconds=1)
    assert CronTimes.parse(spec).any_between(second, time)
    assert CronTimes.parse(spec).any_between(second, time.replace(microsecond=5))
    assert not CronTimes.parse(spec).any_between(time.replace(microsecond=5), time.replace(microsecond=9))
    assert not CronTimes.parse(spec).any_between(time, second)


@pytest.mark.parametrize(
    ("spec", "after", "until"),
    [
        ("0 0 2 * * *", "2024-05-06 02:00:00", "2024-05-07 01:59:59"),
        ("0 0 0 31 2 *", "1970-01-01", "2099-01-01"),
        ("0 0 0 13 * */1", "2024-05-13 00:00:00", "2024-06-12 23:59:59"),  # a star, with a step or without, needs both
        ("0 0 0 */31 * 5", "2024-01-01", "2024-02-29"),
    ],
)
def test_no_time_lies_between(spec: str, after: str, until: str) -> None:
    assert not CronTimes.parse(spec).any_between(datetime.fromisoformat(after), datetime.fromisoformat(until))


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ("x y", "Expected 5 to 6 fields, found 2: x y"),
        ("", "Expected 5 to 6 fields, found 0: "),
        ("@every 1h", "Unrecognized descriptor: @every 1h"),
        ("60 0 2 * * *", "End of range (60) above maximum (59): 60"),
        ("0 0 2 0 * *", "Beginning of range (0) below minimum (1): 0"),
        ("0 0 9-2 * * *", "Beginning of range (9) beyond end of range (2): 9-2"),
        ("0 0 2 * * 7", "End of range (7) above maximum (6): 7"),
        ("0 0 */0 * * *", "Step of range should be a positive number: */0"),
        ("0 0 1-2-3 * * *", "Too many hyphens: 1-2-3"),
        ("0 0 1/2/3 * * *", "Too many slashes: 1/2/3"),
        ("0 0 2 * january *", "Failed to parse int from january"),
        ("0 0 -2 * * *", "Failed to parse int from "),
    ],
)
def test_a_wrong_spec_is_refused(spec: str, cause: str) -> None:
    with pytest.raises(ConfigError) as refused:
        CronTimes.parse(spec)
    assert refused.value.args[0].startswith(cause)
    assert refused.value.context["option"] == "file-cleanup-cron-spec"
