package main

// introduction is the format of the page's introduction. Its arguments are the number of workers and the timeout for hangs.
const introduction = `# From a failure to the next training step

` + "`make bench-train`" + ` writes this page. Each training job runs on one real node with 2 cores: %d workers, each in its own pod, with PyTorch 2.6
(Debian 13) and gloo. The model is small, and the program writes a checkpoint after every step, so the figures show how long the restart takes, not the
lost work. The time is measured from the failure until every rank has completed another optimizer step; the ranks record all times
themselves, with the same clock. Rank 2 fails, and each failure is the first one of its training job. So the kubelet's back-off, which delays later
restarts of a container, is not included in any figure.

| failure | how it is caused | what can detect it |
|---|---|---|
| a process is killed | the rank sends itself SIGKILL after a step | its parent, and the broken connections of the other ranks |
| a rank hangs | the rank stops after a step and waits | the collectives of the other ranks, and Holdfast's supervisor, each after %d s. PyTorch's own default is 30 minutes |
| a pod is deleted | through the API, with a grace period of 10 s; the process exits immediately on SIGTERM | the kubelet, the Job controller, Holdfast |

The kinds of recovery:

* **torchrun**: ` + "`torchrun --max-restarts=100`" + `, with one agent in each pod and the c10d rendezvous in worker 0. The Job controller replaces a
  deleted pod. The ranks do not share the store of the rendezvous, because Debian's build has no libuv.
* **Holdfast exec**, **Holdfast exec, warm start**, **Holdfast CRI**: one annotation on a JobSet that runs ` + "`python3 train.py`" + `
  ([restarts in place](../in-place-restart.md), [warm start](../python.md#warm-start)).
* **Holdfast exec, warm start, one spare**: the same with a [spare](../spares.md) on a second node of the same machine. The spare has
  imported the modules before the failure.
* **JobSet InPlaceRestart**: the upstream JobSet controller v0.12.0 with its own agent as a sidecar.
* **Recreate**: a failed worker causes its Job to fail, and all pods are recreated.

The tables show medians, with the minimum and the maximum in parentheses. **load** is the load average of the machine in the minute before each failure,
which includes the training job itself and other work on the machine. In the runs of 2026-11-24, the control group of the pods had precedence over that
other work (` + "`cpu.shares`" + ` 262144), and the control plane ran at nice -15. So rows of different days were measured under different load.
`

// reasons is the text that follows the targets.
const reasons = `
* Recovery from **a hang** always takes at least 15 s, because that is the timeout in this benchmark, and nothing detects the hang earlier. A warm start
  saves time after that.
* **torchrun** loses most of its time in ` + "`start`" + `, from the end of the last rank until all agents have rejoined and started their ranks: 2 s after
  a killed process, 11 to 23 s after a deleted pod. How the agents spend this time was not measured.
* **A deleted pod**: in the new pod, the first worker waits until the warm-start template has imported its modules, which takes as long as in a
  cold-started worker. A warm start saves the imports of the other ranks, and the lazy imports of the new one. A spare also saves the imports of the new
  rank, scheduling and the start of a container. It takes over when the pod has ended.
`

// remarks is the text at the end of the page.
const remarks = "`detect` ends when Holdfast has detected the failure; the other kinds of recovery do not report this. `stop` ends when no process of the old run is left, and `pod end` ends when the API server shows that nothing of a deleted pod is running. " + `A phase without a
value ("-") is included in the next one. Each phase ends when the last rank has completed it. Kinds of recovery without a row, and fields with "-" in the first table, have not been measured yet.
`
