"""Which release a name or a version means, and what is refused."""

from __future__ import annotations

import warnings

import pytest

from ticdc_emit.config import CLASSIC, NEXT, RELEASES, ConfigWarning, Release
from ticdc_emit.config.releases import LINEAGES, MASTER, releases_with
from ticdc_emit.errors import ConfigError


@pytest.mark.parametrize("name", RELEASES)
def test_every_name_means_its_release(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfigWarning)
        assert Release.parse(name) is RELEASES[name]
    assert Release.parse(RELEASES[name]) is RELEASES[name]
    assert RELEASES[name].name == name


def test_the_lineages_have_all_releases() -> None:
    assert {each.name for releases in LINEAGES.values() for each in releases} == set(RELEASES)
    assert (LINEAGES["classic"][-1], LINEAGES["next"][-2:]) == (CLASSIC, (NEXT, MASTER))
    assert list(RELEASES)[:3] == ["classic", "next", "master"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("8.5.3", "classic-8.5.3"),
        ("v8.5.3", "classic-8.5.3"),
        ("V8.1.2", "classic-8.1.2"),
        (" 8.5.0 ", "classic-8.5.0"),
        ("26.3.4", "next-26.3.4"),
        ("next-v8.5.7", "next-8.5.7"),
        ("Classic-8.5.7", "classic-8.5.7"),
        ("NEXT-26.3.1", "next-26.3.1"),
        ("8.5.4-release.1", "next-8.5.4-release.1"),
        ("v8.5.4-release.10", "next-8.5.4"),  # that became 8.5.4
        ("7.5", "classic-7.5.7"),
        ("v8.1", "classic-8.1.2"),
        ("26.3", "next-26.3.4"),
        ("classic-8.5", "classic-8.5.7"),
        ("next-8.5", "next-8.5.8"),
        ("8.5.8", "next-8.5.8"),
    ],
)
def test_versions_in_the_table(written: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfigWarning)
        assert Release.parse(written).name == name


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("7.5.9", "classic-7.5.7 and next-8.5.4-release.1"),
        ("7.1.0", "classic-7.5.7 and next-8.5.4-release.1"),
        ("8.5.33", "classic-8.5.7 and next-8.5.8"),
        ("v8.5.33", "classic-8.5.7 and next-8.5.8"),
        ("9.9", "classic-8.5.7 and next-8.5.8"),
        ("9.0.0", "classic-8.5.7 and next-8.5.8"),
        ("26.3.12", "classic-8.5.7 and next-26.3.4"),
        ("classic-8.5.33", "classic-8.5.7"),
        ("classic-26.3.1", "classic-8.5.7"),
        ("next-8.5.3", "next-8.5.4-release.1"),
        ("next-7.5.7", "next-8.5.4-release.1"),
        ("8.5.4-release.5", "next-8.5.4-release.1"),
    ],
)
def test_the_refusal_of_a_version_names_the_nearest_ones(written: str, names: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Release.parse(written)
    assert refused.value.message == f"unknown release {written!r}"
    assert refused.value.remedy == f"The nearest to it: {names}. Use one of: {', '.join(RELEASES)}"


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("8.5.4", "classic-8.5.4 or next-8.5.4"),
        ("v8.5.7", "classic-8.5.7 or next-8.5.7"),
        ("8.5", "classic-8.5.7 or next-8.5.8"),
    ],
)
def test_versions_of_both_lineages_are_refused(written: str, names: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Release.parse(written)
    assert refused.value.remedy.startswith(f"Use {names}: ")
    assert refused.value.option == "release"


@pytest.mark.parametrize(
    "written",
    [
        *("", "8", "8.5.3.1", "9.0.0", "7.6.0", "classic-26.3.1", "classic-8.5.4-release.1", "next-7.5.7", "8.5.x"),
        *("tidb", "master-8.5.7", "8.5.4-release", "8.5-release.1", "next-", "vv8.5.3", "clasic", "-8.5.3"),
    ],
)
def test_unknown_releases(written: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Release.parse(written)
    assert refused.value.message == f"unknown release {written!r}"
    assert refused.value.remedy.endswith(f"Use one of: {', '.join(RELEASES)}")


def test_the_remedy_guesses_the_name() -> None:
    with pytest.raises(ConfigError, match="Did you mean classic"):
        Release.parse("clasic")


def test_the_text_of_some_releases() -> None:
    assert releases_with(lambda each: True) == "classic-7.5.7 to classic, next-8.5.4-release.1 to master"
    assert releases_with(lambda each: each.name.endswith("8.5.7")) == "classic-8.5.7, next-8.5.7"
    assert releases_with(lambda each: False) == ""
