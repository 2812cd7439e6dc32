// Package torch runs real PyTorch: Debian's torch 1.13 and 2.6 with gloo. torchrun starts it as users do, and it trains
// a small network with DistributedDataParallel. `hack/install-debian.sh torch` and hack/install-torch-2.6.sh install
// it.
package torch
