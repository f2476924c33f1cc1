"""Results of Dask's tasks, with one error for a cluster that is gone."""

import asyncio
import sys
import warnings
from concurrent.futures import CancelledError
from typing import Any

PATIENCE = 5.0  # seconds between two looks at the connection to the scheduler


def results(tasks: list[Any]) -> list[Any]:
    """What tasks return, in their order, from wherever Dask runs them."""
    from dask import compute

    client = _client()
    try:
        if client is None:
            return list(compute(*tasks))
        return list(client.sync(_watched, client, client.compute(tasks)))
    except _of_cluster() as error:
        kept = str(error).startswith("Missing dependency")  # chunks that were persisted there
        if isinstance(error, ValueError) and not kept:
            raise
        raise ConnectionError(
            "the cluster that held the blocks is gone, or lost the work on them: start a new "
            f"one and call again, nothing was released ({type(error).__name__}: {error})"
        ) from error


def _client() -> Any:
    """The client that Dask would take; None inside a task, where Dask makes room as it waits."""
    from dask.base import get_scheduler

    distributed: Any = sys.modules.get("distributed")
    client = getattr(get_scheduler(), "__self__", None)
    if distributed is None or not isinstance(client, distributed.Client):
        return None
    try:
        distributed.get_worker()
    except ValueError:
        return client
    return None


async def _watched(client: Any, futures: list[Any]) -> Any:
    """Gather as long as there is a scheduler.

    A connection that breaks cancels what was under way. What is submitted to a client that tries
    to connect again would wait until it gives up, which a setting may put off for hours. For
    workers Dask waits without end, since a cluster may begin with none: we say so, and wait.
    """
    told = False
    gathering = asyncio.ensure_future(client.gather(futures, asynchronous=True))
    gathering.add_done_callback(lambda task: task.cancelled() or task.exception())  # if left alone
    while not (await asyncio.wait([gathering], timeout=PATIENCE))[0]:
        if client.status != "running":
            raise CancelledError(f"no scheduler answers, the client is {client.status}")
        if not told and await _no_workers(client):
            warnings.warn("the cluster has no workers: waiting for one", stacklevel=2)
            told = True
    return gathering.result()


async def _no_workers(client: Any) -> bool:
    """Whether the scheduler says that it has none; one that says nothing may be busy or dead."""
    try:
        cluster = await asyncio.wait_for(client.scheduler.identity(n_workers=0), PATIENCE)
    except OSError:  # no answer, or none in time
        return False
    return bool(cluster["n_workers"] == 0)


def _of_cluster() -> tuple[type[Exception], ...]:
    """Errors by which a lost cluster shows: none of reading a chunk, such as a missing file."""
    client: Any = sys.modules.get("distributed.client")
    known = vars(client).values() if client else ()
    errors = [kind for kind in known if isinstance(kind, type) and issubclass(kind, Exception)]
    own = (kind for kind in errors if kind.__module__.startswith("distributed."))
    return ValueError, CancelledError, *own
