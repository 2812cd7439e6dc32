"""One rank of a training for benchmarks. It records when each phase of its start ends, and fails on request.

STATE is a directory that all ranks share, SLOT the worker's number. Each line of notes-SLOT there has a Unix time in seconds, the process, and
what it has reached: start, import, rendezvous, load, step (the first one), killed or hung. A process locks its file alive-PROCESS for as
long as it lives. After a step, a rank does what the file order-SLOT says: killed or hung. COLLECTIVE_TIMEOUT is how many seconds a rank waits
for the others in a step.

With a GPU, the rank uses the GPU of its number. Before that, it appends the MiB in use on that GPU to memory-SLOT. It hangs inside a kernel.
"""
import fcntl
import os
import shutil
import signal
import subprocess
import time

STATE, SLOT = os.environ["STATE"], os.environ["SLOT"]
PROCESS = f"{SLOT}.{time.time_ns()}"


def note(what):
    with open(f"{STATE}/notes-{SLOT}", "a") as f:
        f.write(f"{time.time():.4f} {PROCESS} {what}\n")


def obey():
    order = f"{STATE}/order-{SLOT}"
    if not os.path.exists(order):
        return
    with open(order) as f:
        what = f.read()
    os.remove(order)
    note(what)
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
        os._exit(137)  # the first process of a container ignores its own SIGKILL; the kubelet takes this exit code for one
    if gpu:
        torch.cuda._sleep(1 << 50)
        torch.cuda.synchronize()
    while True:
        time.sleep(0.1)


# As the first process of a container, Python would ignore the signal by default.
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
alive = open(f"{STATE}/alive-{PROCESS}", "w")
fcntl.flock(alive, fcntl.LOCK_EX)
note("start")
if shutil.which("nvidia-smi"):
    used = subprocess.run(["nvidia-smi", f"--id={SLOT}", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True)
    with open(f"{STATE}/memory-{SLOT}", "a") as f:
        f.write(used.stdout)

import datetime  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import holdfast  # noqa: E402

note("import")
restarts = os.environ.get("HOLDFAST_RESTART_ROUND", "0")
if os.path.exists("/holdfast/round.env"): # with a sidecar
    with open("/holdfast/round.env") as f:
        restarts = dict(line.strip().split("=") for line in f)["HOLDFAST_RESTART_ROUND"]
if "TORCHELASTIC_RUN_ID" not in os.environ: # restarts do not share a port
    os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + int(restarts))
torch.set_num_threads(1)
gpu = torch.cuda.is_available()
device = torch.device("cuda", int(SLOT)) if gpu else torch.device("cpu")
if gpu:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if gpu else "gloo")
group = dist.new_group(timeout=datetime.timedelta(seconds=float(os.environ["COLLECTIVE_TIMEOUT"])))
note("rendezvous")
checkpoint = STATE + "/checkpoint"
model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if os.path.exists(checkpoint):
    model.load_state_dict(torch.load(checkpoint, map_location=device))
parallel = DistributedDataParallel(model, process_group=group)
note("load")
stepped = False
while True:
    optimizer.zero_grad()
    parallel(torch.rand(32, 256, device=device)).square().mean().backward()
    optimizer.step()
    if gpu:
        torch.cuda.synchronize()
    if not stepped:
        note("step")
        stepped = True
    holdfast.progress()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), checkpoint + ".new")
        os.replace(checkpoint + ".new", checkpoint)
    obey()
    time.sleep(0.2)
