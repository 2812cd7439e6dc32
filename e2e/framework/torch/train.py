"""Trains a small network with DistributedDataParallel from the last checkpoint, and writes a checkpoint after every step.

The environment sets TRAIN_STATE (the checkpoint, a file that all workers share; training ends when a file of the same name with .stop exists) and
TRAIN_PAUSE (seconds between steps, so that there is time for failures). Rank 0 prints a line for each step, and appends it to the file with .log:

    step=12 loss=0.4321 world=3 restart=1

The checkpoint records the number of ranks in each of its steps. With the argument "verify", the program repeats these steps in one process and
compares the models. It fails if a step is missing from the model in the checkpoint, or was applied twice.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STATE = os.environ["TRAIN_STATE"]
PAUSE = float(os.environ.get("TRAIN_PAUSE", "0.1"))


def batch(step, rank):
    """Returns samples of one function, different ones for each rank and step."""
    random = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.rand(64, 8, generator=random) * 2 - 1
    return x, torch.sin(x.sum(dim=1, keepdim=True))


def build():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def save(worlds, model, optimizer):
    torch.save({"worlds": worlds, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, STATE + ".new")
    os.replace(STATE + ".new", STATE)


def tell(line):
    print(line, flush=True)
    with open(STATE + ".log", "a") as log:
        log.write(line + "\n")


def verify():
    """Repeats the steps of the checkpoint, averaging the gradients of all ranks as DistributedDataParallel does."""
    saved = torch.load(STATE)
    model, optimizer = build()
    for step, world in enumerate(saved["worlds"]):
        optimizer.zero_grad()
        for rank in range(world):
            x, y = batch(step, rank)
            (nn.functional.mse_loss(model(x), y) / world).backward()
        optimizer.step()
    for name, value in model.state_dict().items():
        difference = (value - saved["model"][name]).abs().max().item()
        if difference > 1e-3:
            sys.exit(f"{name} differs by {difference:.6f} after {len(saved['worlds'])} steps: one is missing or was applied twice")
    print(f"verified {len(saved['worlds'])} steps", flush=True)


def train():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model, optimizer = build()
    # Rank 0 reads for all ranks, because another rank could read a newer checkpoint.
    saved = [torch.load(STATE) if rank == 0 and os.path.exists(STATE) else None]
    dist.broadcast_object_list(saved, src=0)
    worlds = []
    if saved[0] is not None:
        model.load_state_dict(saved[0]["model"])
        optimizer.load_state_dict(saved[0]["optimizer"])
        worlds = saved[0]["worlds"]
    parallel = DistributedDataParallel(model)
    while True:
        x, y = batch(len(worlds), rank)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(parallel(x), y)
        loss.backward()
        optimizer.step()
        worlds.append(world)
        # All ranks must stop after the same step, but may not see the file at the same time.
        shared = torch.tensor([loss.item(), float(os.path.exists(STATE + ".stop"))])
        dist.all_reduce(shared, op=dist.ReduceOp.SUM)
        if rank == 0:
            save(worlds, model, optimizer)
            restart = os.environ["TORCHELASTIC_RESTART_COUNT"]
            tell(f"step={len(worlds)} loss={shared[0].item() / world:.4f} world={world} restart={restart}")
        if shared[1].item() > 0:
            break
        time.sleep(PAUSE)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1:] == ["verify"]:
        verify()
    elif sys.argv[1:]:
        sys.exit(f"unknown arguments {sys.argv[1:]}")
    else:
        train()
