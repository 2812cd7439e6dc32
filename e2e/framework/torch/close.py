"""Closes a rendezvous, as an agent of torch 2.3 to 2.7 does when it exits: close.py BACKEND ENDPOINT RUN_ID."""
import sys

from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler

backend, endpoint, run_id = sys.argv[1:]
handler = get_rendezvous_handler(
    RendezvousParameters(backend=backend, endpoint=endpoint, run_id=run_id, min_nodes=1, max_nodes=1, is_host="0")
)
print("closed" if handler.shutdown() else "not closed", flush=True)
