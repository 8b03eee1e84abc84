"""The Model Context Protocol with the official client (PyPI `mcp`): over HTTP, and over standard input and output from
a server and from a data folder. The client checks every structured result against the schema of its tool.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="the tests of MCP need the package mcp")
if not hasattr(mcp, "Client"):
    pytest.skip("the tests of MCP need version 2 of the package mcp", allow_module_level=True)

import httpx2  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

TOOLS = [
    "search_properties",
    "get_property",
    "similar_properties",
    "estimate",
    "estimate_rent",
    "home_report",
    "parcel_history",
    "building_history",
    "geocode",
    "search_sales",
    "search_diagnostics",
    "match_diagnostic",
    "price_level",
    "list_portfolios",
    "get_portfolio",
    "preview_alert",
    "create_alert",
    "list_alert_deliveries",
    "sql",
    "describe_tables",
]
FLATS = {"type": ["CLASS_FLAT"], "offer": [{"type": "OFFER_BUY"}]}
WAYS = ["http", "remote", "folder"]
"""HTTP; standard input and output in front of a server; standard input and output over a data folder."""

Connect = Callable[..., Any]


@pytest.fixture
def connect(demo: dict[str, str]) -> Connect:
    """Opens a client of the demo, over a transport and with a key."""

    @contextlib.asynccontextmanager
    async def connected(way: str, key: str = "key", mode: str = "auto") -> AsyncIterator[Any]:
        if not demo.get(key):
            pytest.skip(f"the demo has no {key}")
        if way == "http":
            headers = {"authorization": f"Bearer {demo[key]}"}
            transport = streamable_http_client(
                f"{demo['address']}/mcp", http_client=httpx2.AsyncClient(headers=headers, timeout=120)
            )
        else:
            if not os.environ.get("TOISE"):
                pytest.skip("TOISE names no executable")
            arguments, environment = ["mcp", "--url", demo["address"]], {"TOISE_KEY": demo[key], "RUST_LOG": "error"}
            if way == "folder":
                if not os.environ.get("TOISE_DATA"):
                    pytest.skip("TOISE_DATA names no data folder")
                arguments = ["--data", os.environ["TOISE_DATA"], "mcp"]
            transport = mcp.stdio_client(
                mcp.StdioServerParameters(command=os.environ["TOISE"], args=arguments, env=environment)
            )
        async with mcp.Client(transport, mode=mode, read_timeout_seconds=120) as client:
            yield client

    return connected


async def call(client: Any, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """The structured result of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, result.structured_content)
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def failure(client: Any, tool: str, arguments: dict[str, Any]) -> tuple[int, str]:
    """Code and message of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, (tool, result.structured_content)
    error = result.structured_content["error"]
    return error["code"], error["message"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("way", WAYS)
def test_tools_are_listed_with_hints_and_schemas(connect: Connect, way: str, mode: str) -> None:
    async def listed() -> None:
        async with connect(way, mode=mode) as client:
            assert client.server_info.name == "toise"
            assert "French" in client.instructions
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == TOOLS
            for tool in tools:
                assert tool.annotations.read_only_hint == (tool.name != "create_alert")
                assert tool.annotations.destructive_hint is False
                assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
                assert tool.description
                assert tool.title

    asyncio.run(listed())


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_finds_compares_and_values_homes(connect: Connect, way: str) -> None:
    async def asked() -> None:
        async with connect(way) as client:
            found = await call(client, "search_properties", {"search": {"filterProperty": FLATS}})
            items = found["data"]["items"]
            assert len(items) == 5
            assert found["data"]["count"] >= 5
            identifier = items[0]["flxId"]
            one = await call(client, "get_property", {"flxId": identifier})
            assert one["data"]["flxId"] == identifier
            similar = {"flxId": identifier, "similarityStrategy": "DISTANCE", "size": 2}
            tool = next(tool for tool in (await client.list_tools()).tools if tool.name == "similar_properties")
            strategies = tool.input_schema["$defs"]["SimilarPropertiesRequestSimilarityStrategyEnum"]["enum"]
            similar["similarityStrategy"] = strategies[0]
            assert len((await call(client, "similar_properties", similar))["data"]) <= 2
            home = {
                "location": {"locationCoordinate": {"location": [2.3795, 48.8631]}},
                "type": "CLASS_FLAT",
                "offer": {"type": "OFFER_BUY"},
                "habitation": {"surface": {"total": 50}, "roomCount": 2, "bedroomCount": 1},
            }
            assert (await call(client, "estimate", home))["data"]
            sales = await call(client, "search_sales", {"filters": {"property_type": ["Appartement"]}, "size": 2})
            assert len(sales["data"]) == 2
            diagnostics = await call(client, "search_diagnostics", {"filters": {"etiquette_dpe": ["D"]}})
            assert len(diagnostics["data"]) == 3
            department = diagnostics["data"][0]["code_departement_ban"]
            target = {"filters": {"code_departement_ban": department}, "scoring_targets": {"etiquette_ges": "C"}}
            assert await call(client, "match_diagnostic", target)
            level = {"level": "department", "type": "CLASS_FLAT", "location": {"departments": ["75"]}}
            assert (await call(client, "price_level", level))["data"][0]["place"] == "75"
            assert (await call(client, "geocode", {"q": "Lyon"}))["type"] == "FeatureCollection"
            (portfolio,) = (await call(client, "list_portfolios"))["data"]
            page = (await call(client, "get_portfolio", {"name": portfolio["name"], "size": 2}))["data"]
            assert page["home_count"] == portfolio["home_count"]
            assert len(page["homes"]) <= 2

    asyncio.run(asked())


@pytest.mark.parametrize("way", ["http", "folder"])
def test_an_agent_previews_and_creates_an_alert(connect: Connect, way: str) -> None:
    async def created() -> None:
        async with connect(way) as client:
            query = {"filterProperty": FLATS}
            assert (await call(client, "preview_alert", {"search_query": query, "days": 365}))["data"]["count"] >= 0
            alert = {
                "search_query": query,
                "webhook_url": "https://192.0.2.1/hook",
                "match": ["ALERT_MATCH_CREATED"],
                "search_name": "from an agent",
            }
            code, message = await failure(client, "create_alert", alert)
            assert code == 10002, message
            assert message.startswith("webhook_url: ")
            if way == "http":
                # The demo may deliver to this machine.
                alert["webhook_url"] = "http://127.0.0.1:9/hook"
                made = await call(client, "create_alert", alert)
                deliveries = await call(client, "list_alert_deliveries", {"alertId": made["data"]["alert_id"]})
                assert deliveries["data"] == []

    asyncio.run(created())


@pytest.mark.parametrize("way", WAYS)
def test_queries_only_read_and_at_most_a_thousand_rows(connect: Connect, way: str) -> None:
    async def queried() -> None:
        async with connect(way, "sql_key") as client:
            tables = (await call(client, "describe_tables"))["data"]
            assert {"dvf", "dpe", "properties", "adverts"} <= {table["table_name"] for table in tables}
            (dvf,) = (await call(client, "describe_tables", {"table": "dvf"}))["data"]
            assert any(column.startswith("price_eur ") for column in dvf["columns"])
            count = {"query": "select count(*) as n from dvf where price_eur > $1", "parameters": [100000]}
            assert (await call(client, "sql", count))["data"][0]["n"] > 1000
            assert len((await call(client, "sql", {"query": "select id from dvf limit 1000"}))["data"]) == 1000
            for query in [
                "select id from dvf limit 1001",
                "select * from dvf",
                "drop table dvf",
                "copy dvf to '/tmp/toise-mcp.csv'",
                "create external table t stored as csv location '/etc/passwd'",
                "select 1; select 2",
                "select * from '/etc/passwd'",
                "selct 1",
                "",
            ]:
                code, message = await failure(client, "sql", {"query": query})
                assert code == 10002, (query, message)
            if way != "http":
                # Over HTTP the whole message is refused.
                code, message = await failure(client, "sql", {"query": "x" * (10 << 20)})
                assert code == 10007, message
                assert "must not exceed" in message

    asyncio.run(queried())


@pytest.mark.parametrize("way", WAYS)
def test_errors_are_those_of_the_service(connect: Connect, way: str) -> None:
    async def failed() -> None:
        async with connect(way) as client:
            code, message = await failure(client, "search_sales", {"size": "many"})
            assert code == 10002
            assert message.startswith("size: must be")
            code, message = await failure(client, "search_sales", {"colour": "red"})
            assert message.startswith("colour: is not an argument")
            code, message = await failure(client, "get_property", {"flxId": "search"})
            assert message == "flxId: must be a UUID"
            code, message = await failure(client, "get_property", {"flxId": "0198c0de-0000-7000-8000-000000000001"})
            assert (code, message) == (10003, "no such property")
            if way != "folder":
                # With a data folder, an agent has the rights of its operator.
                code, message = await failure(client, "sql", {"query": "select 1"})
                assert code == 10004
            with pytest.raises(mcp.MCPError, match="no such tool"):
                await client.call_tool("drop_all", {})

    asyncio.run(failed())


def test_nothing_is_answered_without_a_key(demo: dict[str, str]) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = urllib.request.Request(f"{demo['address']}/mcp", json.dumps(message).encode(), headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)
    assert refused.value.code == 401
    assert refused.value.headers["www-authenticate"] == "Bearer"
    assert json.load(refused.value)["error"]["code"] == 10001
