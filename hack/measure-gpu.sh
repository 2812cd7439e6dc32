#!/bin/sh
# Measures restarts of a PyTorch training job on the GPUs of this node, without
# Kubernetes: the seconds from the failure of one rank to the next optimizer
# step on all ranks. Each rank runs under holdfast-exec, with and without warm
# start. One rank kills itself, or hangs inside a CUDA kernel. MiB-before-start
# is the largest amount of GPU memory in use when a process started: it must
# not include the memory of the process before it.
#
#	measure-gpu.sh [PYTHON]
#
# PYTHON (python3) must have PyTorch with CUDA. One rank runs on each GPU.
# The script needs Go and redis-server or valkey-server, changes nothing on the
# node, and takes about five minutes. So far it has run only on CPUs, with two
# ranks and PyTorch 2.6, and never on a GPU.
set -eu

python=$(command -v "${1:-python3}") || {
	echo "measure-gpu.sh: ${1:-python3} not found" >&2
	exit 1
}
case $python in /*) ;; *) python=$PWD/$python ;; esac
if command -v nvidia-smi >/dev/null; then
	nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
	: "${HOLDFAST_RANKS:=$(nvidia-smi --list-gpus | wc -l)}"
	export HOLDFAST_RANKS
else
	echo 'no nvidia-smi: the ranks train on the CPU'
fi
"$python" -c 'import platform, torch; print("Python", platform.python_version(), "PyTorch", torch.__version__, "CUDA", torch.version.cuda)'
cd "$(dirname "$0")/../agent"
HOLDFAST_PYTHON=$python go test -run '^$' -bench BenchmarkTraining -benchtime 5x -timeout 30m ./cmd/holdfast-exec
