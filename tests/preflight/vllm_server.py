"""A server that speaks what TRL's client wants of `vllm serve`, in a process of its own, with scripted completions.

    python -m tests.preflight.vllm_server TOKENIZER.json

It prints its address. In a task "Echo 'word7' to win." it writes a call of `step` first, then a call of `echo` with the
word that stands in that very prompt, then `Done`; in the task with `word2` it is done at once.
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

from aiohttp import web
from tokenizers import Tokenizer

QUITS = "word2"


def written(prompt: str) -> str:
    """What the model writes next."""
    word = re.findall(r"Echo '(\w+)'", prompt)[-1]
    turn = prompt.count("<tool_response>")
    calls = [("step", '{"number": 1}'), ("echo", f'{{"text": "{word}"}}')]
    if word == QUITS or turn >= len(calls):
        return "Done"
    name, arguments = calls[turn]
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def application(tokenizer: Tokenizer) -> web.Application:
    """The routes that TRL's client uses."""

    async def completions(request: web.Request) -> web.Response:
        asked = await request.json()
        return web.json_response({"choices": [choice(ids) for ids in asked["prompt"] for _ in range(asked["n"])]})

    def choice(prompt_ids: list[int]) -> dict[str, Any]:
        text = written(tokenizer.decode(prompt_ids, skip_special_tokens=False)) + "<|im_end|>"
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        tokens = [f"token_id:{number}" for number in ids]
        chances = {"tokens": tokens, "token_logprobs": [-0.1] * len(ids), "top_logprobs": [None] * len(ids)}
        return {"prompt_token_ids": prompt_ids, "token_ids": ids, "logprobs": chances}

    def answering(answer: Any) -> Any:
        async def handle(request: web.Request) -> web.Response:
            return web.json_response(answer)

        return handle

    served = web.Application(client_max_size=2**26)
    served.router.add_get("/health", answering({}))
    served.router.add_get("/v1/models", answering({"data": [{"id": "tiny"}]}))
    served.router.add_get(
        "/server_info", answering({"vllm_config": {"model_config": {"logprobs_mode": "processed_logprobs"}}})
    )
    served.router.add_post("/reset_prefix_cache", answering({"success": True}))
    served.router.add_post("/v1/completions", completions)
    return served


async def main() -> None:
    """Serve until standard input ends."""
    runner = web.AppRunner(application(Tokenizer.from_file(sys.argv[1])))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
