// Package testbed runs a real Kubernetes cluster on one Linux host, without a registry and without a container engine.
// The programs are built from Go modules or come from Debian, and run as processes of the host:
//
//	10.87.0.1 (bridge hf-api)            10.88.N.1 (bridge hf-node-N)
//	  :6443 kube-apiserver -- etcd         kubelet -> containerd -> pods
//	  :53   CoreDNS                        one mount namespace per node,
//	  :6379 Redis                          held by a pause process
//	  kube-controller-manager, kube-scheduler (loopback)
//
// A node's programs run in their own mount namespace. In it, the kubelet and containerd use their usual paths
// (/run/containerd/containerd.sock, /var/lib/kubelet, /var/log/pods), so that manifests for real nodes work unchanged.
// On the host, the same files are in the testbed's directories. All mounts disappear with the last process of the node.
//
// Everything is started in a single cgroup. This is how Down finds what an interrupted Up has left, and why it never
// kills a process that the testbed did not start.
package testbed
