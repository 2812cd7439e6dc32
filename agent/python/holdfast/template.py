"""The template process for warm starts. It imports the modules given as arguments and forks a child for each start of the worker.

If HOLDFAST_PRELOAD is set, holdfast-exec runs it with a socket as file descriptor 3. The child is not a descendant of the template:
the supervisor adopts it, waits for it and ends it, as if it had started the child itself.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import time
import traceback
from typing import Any

_PR_SET_PDEATHSIG = 1


def main(modules: list[str]) -> None:
    """Serves requests until the supervisor is gone."""
    supervisor = socket.socket(fileno=3)
    supervisor.set_inheritable(False)
    libc = ctypes.CDLL(None)
    imported = [m for m in modules if _import(m)]
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        sys.exit("holdfast: the modules of HOLDFAST_PRELOAD have initialized CUDA, which a child cannot use after a fork")
    gc.collect()
    gc.freeze()  # keeps the garbage collector of a child from writing to shared pages
    supervisor.send(",".join(imported).encode()[:4000] or b"-")
    while True:
        message, ancillary, _, _ = supervisor.recvmsg(1 << 20, socket.CMSG_SPACE(3 * 4))
        if not message:
            return
        files = array.array("i")
        for _, _, data in ancillary:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
        request = json.loads(message)
        pid, between = _fork()
        if pid == 0:
            supervisor.close()
            _become(request, between, list(files), libc)
            _run(request["args"])
            return
        for f in files:
            os.close(f)
        supervisor.send(str(pid).encode())


def _import(module: str) -> bool:
    try:
        importlib.import_module(module)
    except Exception:  # the worker reports the error when it imports the module itself
        traceback.print_exc()
        return False
    return True


def _fork() -> tuple[int, int]:
    """Forks a child through an intermediate process that exits, so that the supervisor adopts the child. Returns the PID of the child (0
    in the child itself) and the PID of the intermediate process."""
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        between = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.close(writer)
            return 0, between
        os.write(writer, str(child).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as r:
        pid = int(r.read())
    os.waitpid(between, 0)
    return pid, between


def _become(request: dict[str, Any], between: int, files: list[int], libc: ctypes.CDLL) -> None:
    """Sets up this process as if it had been executed by the supervisor."""
    os.setsid()
    while os.getppid() == between:
        time.sleep(0.0005)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != request["parent"]:  # the supervisor is gone
        os._exit(137)
    if len(files) > 2 and not os.read(files[2], 1):  # the supervisor has given up on this process; earlier versions send no pipe
        os._exit(137)
    for target, source in zip((1, 2), files):
        os.dup2(source, target)
    for f in files:
        os.close(f)
    os.environ.clear()
    os.environ.update(request["env"])
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()  # Python's own generator is reseeded after a fork


def _run(args: list[str]) -> None:
    """Runs `[-u] script [argument...]` or `[-u] -m module [argument...]` as the main program. With -u, the template also runs with -u."""
    if args[0] == "-u":
        args = args[1:]
    if args[0] == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = args[1:]
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(args[0]))
        sys.argv = args
        runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
