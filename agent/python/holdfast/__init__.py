"""Connects training code to Holdfast's supervisor: identifies the current restart, and reports progress and checkpoints.

Outside a supervised container all functions do nothing, so that the same program can run anywhere.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
from collections.abc import Iterator

__all__ = ["Restart", "checkpoint", "progress", "restart"]
__version__ = "0.1.0"


@dataclasses.dataclass(frozen=True)
class Restart:
    """Identifies one start of a group of workers that restart together."""

    epoch: int
    """Increases by one each time the pods are recreated."""
    round: int
    """The number of in-place restarts since then."""
    rendezvous_id: str
    """Unique to each restart. Pass it to torchrun as --rdzv-id."""


def restart() -> Restart | None:
    """Returns the restart that this process belongs to, or None if it was not started by a supervisor."""
    try:
        return Restart(
            epoch=int(os.environ["HOLDFAST_RESTART_EPOCH"]),
            round=int(os.environ["HOLDFAST_RESTART_ROUND"]),
            rendezvous_id=os.environ["HOLDFAST_RENDEZVOUS_ID"],
        )
    except KeyError:
        return None


def progress() -> None:
    """Reports that the training is making progress. Call it after every step: it takes microseconds.

    A worker that does not call it for the duration of --progress-timeout is considered hung, and its group restarts. Raises
    OSError if the file that the supervisor watches cannot be written.
    """
    if path := os.environ.get("HOLDFAST_PROGRESS_FILE"):
        with open(path, "ab"):
            os.utime(path)


@contextlib.contextmanager
def checkpoint() -> Iterator[None]:
    """Delays a requested restart while a checkpoint is being written, for at most CHECKPOINT_GRACE_PERIOD.

        with holdfast.checkpoint():
            torch.save(state, path)

    All processes of a container may delay it at the same time; the restart waits for the last. A process that is killed inside
    the block stops delaying it once another process enters or leaves. Raises OSError if the supervisor's file cannot be written.
    """
    path = os.environ.get("HOLDFAST_CHECKPOINT_FILE")
    if not path:
        yield
        return
    _hold(path, True)
    try:
        yield
    finally:
        _hold(path, False)


def _hold(path: str, enter: bool) -> None:
    """Adds this process to the holders in the file, or removes it and those no longer running. Deletes the file if no holders are left."""
    with open(path + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _change_holders(path, enter)
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing the file does not unlock it if another thread has forked in the meantime


def _change_holders(path: str, enter: bool) -> None:
    me = str(os.getpid())
    try:
        with open(path) as f:
            holders = [pid for pid in f.read().split() if pid.isdigit() and os.path.exists("/proc/" + pid)]
    except FileNotFoundError:
        holders = []
    if enter:
        holders.append(me)
    elif me in holders:
        holders.remove(me)
    if not holders:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        return
    with open(path, "w") as f:
        f.write("\n".join(holders) + "\n")
