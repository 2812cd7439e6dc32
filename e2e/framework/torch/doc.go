// Package torch runs real PyTorch: Debian's torch 1.13 and 2.6 with gloo, started by torchrun as users start it, training a small network with
// DistributedDataParallel. hack/install-debian.sh torch
// and hack/install-torch-2.6.sh install them.
package torch
