"""Trains a small network with DistributedDataParallel, and goes on where the last worker group stopped.

What it needs to know is in the environment: TRAIN_STATE (a file that all workers share; training ends when there is another one beside it, with .stop
at the end of its name), TRAIN_PAUSE (seconds between steps, so that there is time for failures). Rank 0 prints one line for each step, and adds it to a file beside the state, with .log at the end of its name:

    step=12 loss=0.4321 world=3 restart=1
"""
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STATE = os.environ["TRAIN_STATE"]
PAUSE = float(os.environ.get("TRAIN_PAUSE", "0.1"))


def batch(step, rank):
    """What is to be learnt: the same function for all, other examples for each rank and step."""
    random = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.rand(64, 8, generator=random) * 2 - 1
    return x, torch.sin(x.sum(dim=1, keepdim=True))


def load(model, optimizer):
    """Every rank reads the same file, which rank 0 replaces as a whole."""
    if not os.path.exists(STATE):
        return 0
    saved = torch.load(STATE)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"]


def save(step, model, optimizer):
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, STATE + ".new")
    os.replace(STATE + ".new", STATE)


def tell(line):
    print(line, flush=True)
    with open(STATE + ".log", "a") as log:
        log.write(line + "\n")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    # A rank may read while another has saved already: rank 0 says where all begin.
    start = torch.tensor([load(model, optimizer)])
    dist.broadcast(start, 0)
    parallel = DistributedDataParallel(model)
    step = int(start)
    while True:
        x, y = batch(step, rank)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(parallel(x), y)
        loss.backward()
        optimizer.step()
        step += 1
        # All have to stop after the same step, though they may not see the file at the same time.
        shared = torch.tensor([loss.item(), float(os.path.exists(STATE + ".stop"))])
        dist.all_reduce(shared, op=dist.ReduceOp.SUM)
        if rank == 0:
            save(step, model, optimizer)
            tell(f"step={step} loss={shared[0].item() / world:.4f} world={world} restart={os.environ['TORCHELASTIC_RESTART_COUNT']}")
        if shared[1].item() > 0:
            break
        time.sleep(PAUSE)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
