package main

// introduction takes the number of workers and the timeout of hangs.
const introduction = `# From a failure to the next training step

Written by ` + "`make bench-train`" + `. Each training runs on one real node of 2 cores: %d workers, each in a pod of its own, with PyTorch 2.6
(Debian 13) and gloo. The model is small and the checkpoint is written after every step, so that the figures show the restart and not the
lost work. The time runs from the failure to the moment when every rank has completed an optimizer step again; all moments are notes of the
ranks themselves, which share the machine's clock. Rank 2 fails, and each failure is the first of its training: the kubelet's back-off, which
delays later restarts of a container, is not part of any figure.

| failure | how it is made | what can notice it |
|---|---|---|
| a process is killed | the rank sends itself SIGKILL after a step | its parent, and the broken connections of the other ranks |
| a rank hangs | the rank stops after a step and waits | the collectives of the other ranks, and Holdfast's supervisor, each after %d s. PyTorch's own default is 30 minutes |
| a pod is deleted | through the API, with a grace period of 10 s; the process exits at once on SIGTERM | the kubelet, the Job controller, Holdfast |

The answers:

* **torchrun**: ` + "`torchrun --max-restarts=100`" + `, one agent in each pod, the c10d rendezvous in worker 0. The Job replaces a pod that is
  deleted. The store of the rendezvous is not shared with the ranks: Debian's build lacks libuv.
* **Holdfast exec**, **Holdfast exec, warm start**, **Holdfast CRI**: one annotation on a JobSet that runs ` + "`python3 train.py`" + `
  ([restarts in place](../in-place-restart.md), [warm start](../python.md#warm-start)).
* **JobSet InPlaceRestart**: the published JobSet controller v0.12.0 and its own agent as a sidecar.
* **Recreate**: a failed worker fails its Job, and all pods are created again.

Medians, with the least and the most in parentheses. **load** is the load average of the machine in the minute before each failure; the training
itself is part of it, and so is other work on the machine. In the runs of 2026-11-24 the control group of the pods had precedence over that other
work (` + "`cpu.shares`" + ` 262144), and the control plane ran at nice -15.
`

// reasons follow the targets.
const reasons = `
* **A hang** takes every answer 15 s and more, because nothing notices it before: that is the timeout of this benchmark. Warm start saves the
  seconds after it.
* **torchrun** loses most of its time in ` + "`start`" + `, from the end of the last rank until all agents have met again and have started theirs: 2 s after
  a killed process, 11 to 23 s after a deleted pod. How the agents spend it was not measured.
* **A deleted pod**: in the new pod, the first worker waits until the template of the warm start has imported its modules, as a worker that
  starts cold would. Warm start saves the import of the other ranks, and the late imports of the new one.
`

// remarks come last.
const remarks = "`detect` ends when Holdfast knows of the failure, which the other answers do not report; `stop` ends when no process of the old run is left. " + `A phase that has no time of its own ("-") is part of
the next. Each phase ends when the last rank has completed it. Answers without a row, and fields with "-" in the first table, have not been measured yet.
`
