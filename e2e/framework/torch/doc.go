// Package torch runs real PyTorch: Debian's torch 1.13 and 2.6 with gloo. It is started by torchrun, as in production,
// and trains a small network with DistributedDataParallel. It is installed by `hack/install-debian.sh torch` and
// hack/install-torch-2.6.sh.
package torch
