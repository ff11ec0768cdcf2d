"""Paths of a storage sink's files: joined as Go joins them, and taken apart."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import DeliveryError, SchemaError
from ticdc_emit.storage.paths import FileNames, joined


@pytest.mark.parametrize("names", [("..",), ("..", "t"), ("a", "../../b")])
def test_no_name_leaves_the_folder(names: tuple[str, ...]) -> None:
    with pytest.raises(SchemaError, match="leads out of the folder"):
        joined(*names)


@pytest.mark.parametrize("dispatcher", ["", "1197"])
def test_names_of_files(dispatcher: str) -> None:
    names = FileNames(".csv", 8, dispatcher)
    first = "CDC_1197_" if dispatcher else "CDC"
    assert names.name(12) == f"{first}00000012.csv"
    assert names.index_file == f"meta/{first.removesuffix('_')}.index"
    assert names.number(names.name(12)) == 12
    assert names.number(f"{first}000007.csv") == 7  # of another file-index-digit


@pytest.mark.parametrize(
    "name", ["", "CDC1.csv", "CDC000001.json", "XYZ000001.csv", "CDC00000x.csv", "CDC_1_000001.csv"]
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(DeliveryError, match="ErrStorageSinkInvalidFileName"):
        FileNames(".csv", 20).number(name)
