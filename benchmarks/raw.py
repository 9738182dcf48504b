#!/usr/bin/env python3
"""What a tool call costs above the least that it can: the same requests, written out with aiohttp, on one event loop.

    make bench

The raw client knows nothing but the happy path: it has no deadlines, no limits, no retries, no keys and no threads. The
adapter's methods are called from another thread than that of its event loop, as a trainer calls them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import aiohttp

from benchmarks.speed import Server, our_spec, serving

LATENCY = 0.03  # seconds before the server handles a request
CALLS = 200

Cost = tuple[float, float]
"""Milliseconds of wall time and of CPU time for a call."""


def raw(server: Server) -> Cost:
    """Calls made with aiohttp and no more."""
    return asyncio.run(_raw(server.url))


async def _raw(url: str) -> Cost:
    async with aiohttp.ClientSession(url) as http:
        headers = {"X-Session-ID": (await _stream(http, "/create_session", {}))["task_id"]}
        async with http.post(
            "/create", json={"env_name": "echo", "split": "train", "index": 0}, headers=headers
        ) as made:
            await made.read()
        call = {"name": "wait", "input": {"seconds": 0}}
        await _stream(http, "/echo/call", call, headers)
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(CALLS):
            json.loads((await _stream(http, "/echo/call", call, headers))["end"])
        return _cost(wall, cpu)


async def _stream(
    http: aiohttp.ClientSession, path: str, body: Any, headers: dict[str, str] | None = None
) -> dict[str, str]:
    """The last data of each type of event in a stream."""
    event, data = "", {}
    async with http.post(path, json=body, headers={"Accept": "text/event-stream"} | (headers or {})) as response:
        async for line in response.content:
            field, _, value = line.decode().rstrip("\r\n").partition(": ")
            if field == "event":
                event = value
            elif field == "data":
                data[event] = value
    return data


def adapter(server: Server) -> Cost:
    """Calls of an adapter's method."""
    rollout = our_spec(server).environment_factory()
    rollout.reset(task_index=0)
    rollout.wait(seconds=0)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        rollout.wait(seconds=0)
    cost = _cost(wall, cpu)
    rollout._close()
    return cost


def _cost(wall: float, cpu: float) -> Cost:
    return 1000 * (time.perf_counter() - wall) / CALLS, 1000 * (time.process_time() - cpu) / CALLS


def main() -> None:
    """Print the table: the best of five pairs, because whatever else runs only adds to a figure."""
    with serving("Echo", LATENCY) as server:
        pairs = [(raw(server), adapter(server)) for _ in range(5)]
    print(f"Server latency {1000 * LATENCY:.0f} ms.\n")
    print("| a tool call | raw client | orl-codegen | ratio | target |\n|---|---:|---:|---:|---:|")
    for row, (name, target) in enumerate([("wall time", "<= 1.05"), ("CPU time", "<= 1.4")]):
        least, ours = (min(pair[side][row] for pair in pairs) for side in (0, 1))
        print(f"| {name} | {least:.3g} ms | {ours:.3g} ms | {ours / least:.2f} | {target} |")


if __name__ == "__main__":
    main()
