"""One of two processes that train with TRL's `GRPOTrainer` and a vLLM server, on the CPU; it prints what came of it.

    python -m tests.preflight.rank ENVIRONMENT VLLM FOLDER

Weights are not sent to the server: TRL does that through NCCL, between GPUs. All else is TRL's, torch's and ours.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import trl
from trl.generation import vllm_client, vllm_generation

from orl_codegen import OpenRewardSpec
from orl_codegen.errors import PreflightError
from orl_codegen.trl.preflight import checks
from tests.runtime import adapters
from tests.support import grpo


def trainer(environment: str, vllm: str, folder: str) -> Any:
    """A trainer in which this process plays two of four tasks, twice each."""
    spec = OpenRewardSpec(adapters.Echo, base_url=environment, num_tasks=4)
    fast = grpo.tokenizer()
    arguments = trl.GRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=4,
        num_generations=2,
        max_steps=1,
        max_completion_length=256,
        max_tool_calling_iterations=4,
        shuffle_dataset=False,
        use_vllm=True,
        vllm_mode="server",
        vllm_server_base_url=vllm,
        ddp_backend="gloo",
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
    )
    return trl.GRPOTrainer(
        model=grpo.model(fast),
        processing_class=fast,
        args=arguments,
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
    )


def without_gpus() -> None:
    """Let TRL's client talk to a server where vLLM is not installed, and where there is no GPU to send weights from."""
    for module in (vllm_client, vllm_generation):
        module.is_vllm_available = lambda *_, **__: True
    vllm_client.VLLMClient.init_communicator = lambda *_, **__: None
    vllm_client.VLLMClient.update_named_params = lambda *_, **__: None


def main() -> None:
    """Train twice: as a user would, and with the check made to believe that TRL has no fault."""
    without_gpus()
    refusal, sessions = "", 0
    played = trainer(*sys.argv[1:])
    try:
        played.train()
    except PreflightError as error:
        refusal = str(error)
        sessions = sum(rollout._session is not None for rollout in played.environments)
    at_fault = checks.takes_by_own_count(type(played.vllm_generation).generate)
    checks.takes_by_own_count = lambda generate: False
    played.train()
    found = {
        "rank": int(os.environ["RANK"]),
        "refusal": refusal,
        "sessions": sessions,
        "at_fault": at_fault,
        "rewards": [rollout.reward for rollout in played.environments],
    }
    print("\n" + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
