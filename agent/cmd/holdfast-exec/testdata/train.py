"""One rank of a training, for benchmarks: it notes when each phase of its start ends, and every step.

LINES names its file. Each line is the Unix time in seconds, the process, and start, import, rendezvous, load or step.
"""
import os
import time


def note(what):
    with open(os.environ["LINES"], "a") as f:
        f.write(f"{time.time():.4f} {os.getpid()} {what}\n")


note("start")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

note("import")
if "HOLDFAST_RESTART_ROUND" in os.environ:  # no two restarts meet at the same port
    os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + int(os.environ["HOLDFAST_RESTART_ROUND"]))
torch.set_num_threads(1)
dist.init_process_group("gloo")
note("rendezvous")
state = os.environ["STATE"]
model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if os.path.exists(state):
    model.load_state_dict(torch.load(state))
parallel = DistributedDataParallel(model)
note("load")
while True:
    optimizer.zero_grad()
    parallel(torch.rand(32, 256)).square().mean().backward()
    optimizer.step()
    note("step")
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), state + ".new")
        os.replace(state + ".new", state)
    time.sleep(0.2)
