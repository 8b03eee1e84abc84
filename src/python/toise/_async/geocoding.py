"""Turns addresses into positions and back: single ones, batches, tables and files."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any, Final, Literal, TypeVar, cast

from .. import _geocoding, types
from .._geocoding import FileOptions
from .._pages import parts
from .._requests import Request
from ..errors import ItemError, ToiseError
from .transport import AsyncTransport

__all__ = ["AsyncGeocoding", "AsyncGeocodingProjects"]

BATCH_MAX: Final = 100
ROWS_MAX: Final = 20_000
"""Rows sent at a time; a file may have ten times as many."""
FILE_BYTES_MAX: Final = 50 << 20
"""Maximum length of a file that is geocoded in one call; longer ones become projects."""
FILE_TIMEOUT_S: Final = 600.0
BLOCK_BYTES: Final = 1 << 20
PROJECT_WAIT_S: Final = 6 * 3600.0
"""Default maximum wait for a project."""
POLL_S: Final = 2.0
"""Interval at which the status of a project is read."""

FrameT = TypeVar("FrameT")
Kind = Literal["housenumber", "street", "locality", "municipality"]


class AsyncGeocoding:
    """The geocoder; needs the scope `geocoding`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.projects = AsyncGeocodingProjects(transport)

    async def search(
        self,
        q: str | None = None,
        *,
        housenumber: str | None = None,
        street: str | None = None,
        city: str | None = None,
        postcode: str | None = None,
        citycode: str | None = None,
        type: Kind | None = None,
        lat: float | None = None,
        lon: float | None = None,
        limit: int = 5,
        autocomplete: bool = False,
        explain: bool = False,
        extra: Iterable[Literal["iris", "parcel"]] = (),
    ) -> list[types.Address]:
        """Finds addresses for a text or its parts, best first. `properties.score` is the probability that one is right.

        Args:
            q: the address as written; or give its parts separately.
            postcode, citycode, type: filters of the results.
            lat, lon: a position; results near it are preferred.
            limit: maximum number of results, 1 to 50.
            autocomplete: whether the end is still being typed.
            explain: whether `properties` explain how the result was found.
            extra: `iris`, `parcel` or both, to add to the properties.
        """
        request = Request.get(
            f"{self._transport.geocoding}/search",
            q=q,
            housenumber=housenumber,
            street=street,
            city=city,
            postcode=postcode,
            citycode=citycode,
            type=type,
            lat=lat,
            lon=lon,
            limit=limit,
            autocomplete=int(autocomplete),
            explain=1 if explain else None,
            **{"with": ",".join(extra) or None},
        )
        return cast(list[types.Address], (await self._transport.send(request)).json()["features"])

    async def reverse(
        self,
        lat: float,
        lon: float,
        *,
        limit: int = 1,
        distance_max_m: float | None = None,
        postcode: str | None = None,
        citycode: str | None = None,
        type: Kind | None = None,
        extra: Iterable[Literal["iris", "parcel"]] = (),
    ) -> list[types.Address]:
        """Finds the addresses around a position, nearest first; `properties.distance` is in metres."""
        request = Request.get(
            f"{self._transport.geocoding}/reverse",
            lat=lat,
            lon=lon,
            limit=limit,
            maxdistance=distance_max_m,
            postcode=postcode,
            citycode=citycode,
            type=type,
            **{"with": ",".join(extra) or None},
        )
        return cast(list[types.Address], (await self._transport.send(request)).json()["features"])

    async def batch(
        self, requests: Sequence[types.GeocodingBatchRequestRequestsItem]
    ) -> list[types.AddressCollection | ItemError]:
        """Runs any number of searches and reverse searches; returns their results in order."""
        found: list[types.AddressCollection | ItemError] = []
        for part in parts(requests, BATCH_MAX):
            request = Request.question(f"{self._transport.geocoding}/batch", {"requests": list(part)})
            for answer in await self._transport.data(request):
                error = answer.get("error")
                found.append(answer if error is None else ItemError.of(len(found), error))
        return found

    async def csv(self, data: bytes, options: FileOptions | None = None) -> bytes:
        """Geocodes a CSV file. Returns it byte for byte, with the columns of results added.

        Args:
            data: the file, at most 50 MiB and 200,000 rows.
            options: the columns to read and the results to write.
        """
        options = options or FileOptions()
        request = Request("POST", f"{self._transport.geocoding}/{options.operation}/csv", timeout_s=FILE_TIMEOUT_S)
        files = {"data": ("data.csv", data, "text/csv")}
        answer = await self._transport.send(request, data=options.fields(), files=files)
        return answer.content

    async def rows(
        self, rows: Sequence[Mapping[str, Any]], options: FileOptions | None = None
    ) -> list[dict[str, Any]]:
        """Geocodes the rows of a table. Returns one dictionary of results for each row, in order.

        Positions and scores are numbers, all other values are text; values that were not found are None.
        """
        options = options or FileOptions()
        found: list[dict[str, Any]] = []
        for part in parts(rows, ROWS_MAX):
            sent = _geocoding.SentTable.of(part, options)
            found += sent.results(await self.csv(sent.data, sent.options))
        return found

    async def frame(self, frame: FrameT, options: FileOptions | None = None, *, prefix: str = "") -> FrameT:
        """Returns a pandas or Polars frame with columns of results added.

        Args:
            frame: the rows; its index is kept.
            options: the columns to read and the results to add.
            prefix: prefix of the names of the added columns.

        Raises:
            ValueError: the frame already has a column of that name.
        """
        rows = _geocoding.frame_rows(frame, options or FileOptions())
        return _geocoding.with_columns(frame, await self.rows(rows, options), prefix)

    async def file(
        self,
        source: str | pathlib.Path,
        target: str | pathlib.Path,
        options: FileOptions | None = None,
        *,
        wait_s: float = PROJECT_WAIT_S,
    ) -> pathlib.Path:
        """Geocodes a CSV file into another. For a file of more than 50 MiB, runs a project and waits for it."""
        source, target = pathlib.Path(source), pathlib.Path(target)
        options = options or FileOptions()
        if source.stat().st_size <= FILE_BYTES_MAX:
            target.write_bytes(await self.csv(source.read_bytes(), options))
            return target
        project = await self.projects.create()
        try:
            await self.projects.set_pipeline(project["id"], options)
            await self.projects.upload(project["id"], source)
            await self.projects.start(project["id"])
            await self.projects.wait(project["id"], wait_s=wait_s)
            await self.projects.download(project, target)
        finally:
            await self.projects.delete(project["id"])
        return target


class AsyncGeocodingProjects:
    """Projects geocode files in the background: create, set the pipeline, upload, start, wait, download."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def _root(self) -> str:
        return f"{self._transport.geocoding}/async/projects"

    async def create(self) -> types.GeocodingProjectCreateAnswerData:
        """Creates a project; returns its `id`, and the `token` for its output."""
        request = Request.change("POST", self._root)
        return cast(types.GeocodingProjectCreateAnswerData, await self._transport.data(request))

    async def set_pipeline(self, project_id: str, options: FileOptions) -> None:
        """Sets the columns to read and the results to write."""
        await self._transport.data(Request("PUT", f"{self._root}/{project_id}/pipeline", options.pipeline()))

    async def upload(self, project_id: str, source: str | pathlib.Path) -> None:
        """Uploads a file of at most 1 GiB, without holding it in memory."""
        request = Request(
            "PUT",
            f"{self._root}/{project_id}/input-file",
            headers={"content-type": "text/csv"},
            timeout_s=FILE_TIMEOUT_S,
            is_repeatable=False,
        )
        await self._transport.send(request, content=_blocks(pathlib.Path(source)))

    async def start(self, project_id: str) -> None:
        """Queues the project."""
        await self._transport.data(Request.billed(f"{self._root}/{project_id}/start", None, None))

    async def status(self, project_id: str) -> types.GeocodingProjectPipelineAnswerData:
        """Returns the status of the project, with the number of processed rows."""
        request = Request.get(f"{self._root}/{project_id}")
        return cast(types.GeocodingProjectPipelineAnswerData, await self._transport.data(request))

    async def wait(
        self, project_id: str, *, wait_s: float = PROJECT_WAIT_S
    ) -> types.GeocodingProjectPipelineAnswerData:
        """Waits until the project is completed.

        Raises:
            ToiseError: it failed, or is not completed after `wait_s`.
        """
        end_s = monotonic() + wait_s
        while True:
            state = await self.status(project_id)
            if state["status"] == "completed":
                return state
            if state["status"] == "failed":
                raise ToiseError(f"the project {project_id} failed: {state.get('error', 'no reason given')}")
            if monotonic() + POLL_S > end_s:
                raise ToiseError(f"the project {project_id} is {state['status']} after {wait_s:g} s")
            await asyncio.sleep(POLL_S)

    async def download(
        self, project: types.GeocodingProjectCreateAnswerData, target: str | pathlib.Path
    ) -> pathlib.Path:
        """Writes the output of a completed project to a file."""
        target = pathlib.Path(target)
        request = Request.get(f"{self._root}/{project['id']}/output-file/{project['token']}")
        async with self._transport.stream(request) as answer:
            with target.open("wb") as file:
                async for block in answer.aiter_bytes(BLOCK_BYTES):
                    file.write(block)
        return target

    async def delete(self, project_id: str) -> None:
        """Deletes the project and its files."""
        await self._transport.send(Request("DELETE", f"{self._root}/{project_id}"))


async def _blocks(path: pathlib.Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block
