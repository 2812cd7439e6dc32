package main

// introduction is a format with the number of workers and the timeout of hangs.
const introduction = `# From a failure to the next training step

` + "`make bench-train`" + ` writes this page. Each training runs on one real node with 2 cores: %d workers, each in its own pod, with PyTorch 2.6
(Debian 13) and gloo. The model is small and writes a checkpoint after every step, so the figures show the restart and not the
lost work. The time runs from the failure to the moment when every rank has completed an optimizer step again; the ranks record all times
themselves, with the same clock. Rank 2 fails, and each failure is the first of its training. The kubelet's back-off, which delays later restarts of a
container, is not part of any figure.

| failure | how it is caused | what can detect it |
|---|---|---|
| a process is killed | the rank sends itself SIGKILL after a step | its parent, and the broken connections of the other ranks |
| a rank hangs | the rank stops after a step and waits | the collectives of the other ranks, and Holdfast's supervisor, each after %d s. PyTorch's own default is 30 minutes |
| a pod is deleted | through the API, with a grace period of 10 s; the process exits at once on SIGTERM | the kubelet, the Job controller, Holdfast |

The kinds of recovery:

* **torchrun**: ` + "`torchrun --max-restarts=100`" + `, one agent in each pod, the c10d rendezvous in worker 0. The Job replaces a deleted
  pod. The ranks do not share the store of the rendezvous, because Debian's build has no libuv.
* **Holdfast exec**, **Holdfast exec, warm start**, **Holdfast CRI**: one annotation on a JobSet that runs ` + "`python3 train.py`" + `
  ([restarts in place](../in-place-restart.md), [warm start](../python.md#warm-start)).
* **Holdfast exec, warm start, one spare**: a [spare](../spares.md) in addition, on a second node of the same machine. It has imported the modules before
  the failure.
* **JobSet InPlaceRestart**: the published JobSet controller v0.12.0 and its own agent as a sidecar.
* **Recreate**: a failed worker fails its Job, and all pods are created again.

Medians, with the minimum and the maximum in parentheses. **load** is the load average of the machine in the minute before each failure; the training
itself is part of it, and so is other work on the machine. In the runs of 2026-11-24 the control group of the pods had precedence over that other
work (` + "`cpu.shares`" + ` 262144), and the control plane ran at nice -15.
`

// reasons follow the targets.
const reasons = `
* **A hang** takes at least 15 s with every recovery, because that is the timeout of this benchmark and nothing detects the hang earlier. A warm start
  saves time after that.
* **torchrun** loses most of its time in ` + "`start`" + `, from the end of the last rank until all agents have joined again and started their ranks: 2 s after
  a killed process, 11 to 23 s after a deleted pod. How the agents spend it was not measured.
* **A deleted pod**: in the new pod, the first worker waits until the template of the warm start has imported its modules, as a worker that
  starts cold would. A warm start saves the imports of the other ranks, and the late imports of the new one. A spare also saves those of the new one, the
  scheduler and the start of a container. It starts when the pod has ended.
`

// remarks come last.
const remarks = "`detect` ends when Holdfast has detected the failure; the others do not report it. `stop` ends when no process of the old run is left, and `pod end` when the API server shows that nothing of a deleted pod runs. " + `A phase without a
value ("-") is part of the next. Each phase ends when the last rank has completed it. Answers without a row, and fields with "-" in the first table, have not been measured yet.
`
