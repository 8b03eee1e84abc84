"""Records as tables, and homes from keywords."""

from __future__ import annotations

import pytest

import toise
from toise import tables
from toise._geocoding import FileOptions, SentTable, frame_rows, with_columns

RECORDS = [
    {"flxId": "a", "price": {"latest": {"value": 100}}, "tags": []},
    {"flxId": "b", "price": {"latest": {"value": 99.5}}, "habitation": {"surface": {"total": 50}}, "tags": ["x"]},
]
COLUMNS = ["flx_id", "tags", "price_latest_value", "habitation_surface_total"]


def test_columns_are_named_as_in_sql_and_follow_from_all_records():
    pytest.importorskip("pyarrow")
    table = tables.to_arrow(RECORDS)
    assert table.column_names == COLUMNS
    assert table.to_pylist()[0] == {
        "flx_id": "a",
        "tags": [],
        "price_latest_value": 100.0,
        "habitation_surface_total": None,
    }


def test_pandas_and_polars_have_the_same_columns():
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    assert sorted(tables.to_pandas(RECORDS)) == sorted(COLUMNS)
    frame = tables.to_polars(RECORDS)
    assert sorted(frame.columns) == sorted(COLUMNS)
    assert frame["price_latest_value"].to_list() == [100.0, 99.5]


def test_addresses_give_their_position():
    feature = {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [3.5, 44.5]},
        "properties": {"label": "Mende", "matched": {"city": "exact"}},
    }
    assert tables.flattened(feature) == {"label": "Mende", "matched_city": "exact", "lon": 3.5, "lat": 44.5}


def test_a_table_sent_to_the_geocoder_keeps_names_apart():
    rows = [{"latitude": "not sent", "rue": 'une "rue"', "cp": "01000"}, {"rue": None, "cp": None}]
    sent = SentTable.of(rows, FileOptions(columns=["rue"], postcode="cp"))
    assert sent.data.decode() == 'sent_0,sent_1\r\n"une ""rue""",01000\r\n,\r\n'
    assert sent.options.fields()["postcode"] == "sent_1"
    answer = b"sent_0,sent_1,latitude,result_postcode\r\n,,44.5,01000\r\n,,,\r\n"
    assert sent.results(answer) == [
        {"latitude": 44.5, "result_postcode": "01000"},
        {"latitude": None, "result_postcode": None},
    ]


def test_frames_keep_their_index_and_null_is_empty():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": ["x", None], "cp": [48000, None]}, index=[7, 9])
    rows = frame_rows(frame, FileOptions(columns=["a"], postcode="cp"))
    assert rows[1] == {"a": None, "cp": None}
    sent = SentTable.of(rows, FileOptions(columns=["a"], postcode="cp"))
    assert sent.data.decode().splitlines()[1] == "x,48000"
    made = with_columns(frame, [{"latitude": 1.0}, {"latitude": None}], "geo_")
    assert list(made.index) == [7, 9]
    assert made["geo_latitude"].tolist()[0] == 1.0
    with pytest.raises(ValueError, match="prefix"):
        with_columns(frame, [{"a": 1.0}, {"a": 2.0}], "")


def test_polars_frames_get_typed_columns():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": ["x"]})
    made = with_columns(frame, [{"latitude": None, "result_label": None}], "")
    assert made.schema["latitude"] == polars.Float64
    assert made.schema["result_label"] == polars.String
    with pytest.raises(TypeError, match="pandas or Polars"):
        frame_rows([], FileOptions())


def test_a_home_has_only_what_is_known():
    home = toise.home("CLASS_FLAT", 50, lon=2.0, lat=48.0, rooms=3, energy="C", hasLift=True)
    assert home == {
        "location": {"locationCoordinate": {"location": [2.0, 48.0]}},
        "type": "CLASS_FLAT",
        "offer": {"type": "OFFER_BUY"},
        "habitation": {
            "surface": {"total": 50},
            "roomCount": 3,
            "bedroomCount": 2,
            "climate": {"epcEnergy": "ENERGY_CLASSIFICATION_C"},
            "characteristics": {"hasLift": True},
        },
    }
    with pytest.raises(ValueError, match="address"):
        toise.home("CLASS_FLAT", 50, lon=2.0)
