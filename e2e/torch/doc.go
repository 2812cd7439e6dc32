// Package torch runs real PyTorch: Debian's torch 1.13 with gloo, started by torchrun as users start it, training a small network with
// DistributedDataParallel. hack/install-debian.sh torch installs it.
package torch
