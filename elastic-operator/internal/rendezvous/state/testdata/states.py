"""Writes the pickles in this folder as torch's dynamic rendezvous would.

The classes have the same shape, so torch is not needed:

    python3 states.py

This program does not write torch-1.13.pickle. torch 1.13.1 wrote that file in the end-to-end test of the rendezvous.
"""
import pickle
import sys
import types
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

module = types.ModuleType("torch.distributed.elastic.rendezvous.dynamic_rendezvous")
path = ""
for part in module.__name__.split("."):
    path = f"{path}.{part}" if path else part
    sys.modules.setdefault(path, types.ModuleType(path))
sys.modules[module.__name__] = module


@dataclass(eq=True, order=True, frozen=True)
class _NodeDesc:
    addr: str
    pid: int
    local_id: int


class _RendezvousState:
    def __init__(self):
        self.round = 0
        self.complete = False
        self.deadline = None
        self.closed = False
        self.participants = {}
        self.wait_list = set()
        self.redundancy_list = set()
        self.last_heartbeats = {}


for c in (_NodeDesc, _RendezvousState):
    c.__module__ = module.__name__
    c.__qualname__ = c.__name__
    setattr(module, c.__name__, c)

when = datetime(2026, 11, 22, 6, 0, 0, 123456)
nodes = [_NodeDesc(f"10.88.0.{i}", 7, 0) for i in range(6)]


def running():
    s = _RendezvousState()
    s.round, s.complete = 300, True
    s.participants = {nodes[i]: i for i in range(4)}
    s.wait_list = {nodes[4]}
    s.redundancy_list = {nodes[5]}
    s.last_heartbeats = {n: when for n in nodes}
    return s


def closed():
    s = running()
    s.closed = True
    return s


def joining():
    s = _RendezvousState()
    s.deadline = when
    s.participants = {nodes[0]: 0}
    s.last_heartbeats = {nodes[0]: when}
    return s


here = Path(__file__).parent
for name, make in {"running": running, "closed": closed, "joining": joining, "fresh": _RendezvousState}.items():
    for protocol in (2, 4, 5):
        (here / f"{name}-{protocol}.pickle").write_bytes(pickle.dumps(make(), protocol=protocol))
