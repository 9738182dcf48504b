"""Which secrets an environment of the platform wants, before anything of it is opened."""

from __future__ import annotations

from orl_codegen.errors import ServerError, printable
from orl_codegen.generator.discovery.connection import api_key_of
from orl_codegen.generator.discovery.running import run
from orl_codegen.generator.options import Options
from orl_codegen.generator.target import CatalogName, Target
from orl_codegen.ors.advice import PLATFORM, advice
from orl_codegen.ors.endpoint import endpoint
from orl_codegen.ors.failures import Failure
from orl_codegen.ors.platform import list_required_secrets
from orl_codegen.ors.transport import Pool


def required_secrets(target: Target, options: Options) -> tuple[str, ...]:
    """The keys of the secrets that an environment of the platform requires, in the platform's order.

    Other targets have no such list, so there is nothing to say about them.

    Raises:
        UsageError: The environment variable that should hold the key of the platform is not set.
        ServerError: The platform could not be reached, or gave no such answer.
    """
    return run(_asked(target, options)) if isinstance(target, CatalogName) else ()


async def _asked(target: CatalogName, options: Options) -> tuple[str, ...]:
    place = endpoint(target.record, "", api_key=api_key_of(target, options))
    try:
        async with Pool() as pool:
            return tuple(await list_required_secrets(place, pool, within=options.timeout))
    except Failure as failure:
        reason, todo = str(failure).rstrip("."), advice(failure, place, PLATFORM)
    raise ServerError(f"The platform does not say which secrets {printable(target.record)} requires: {reason}. {todo}")
