// Package testbed runs a real Kubernetes cluster on one Linux host, without a
// registry and without a container engine: the programs are built from Go
// modules or come from Debian, and each is started here by its process id.
//
//	10.87.0.1 (bridge hf-api)            10.88.N.1 (bridge hf-node-N)
//	  :6443 kube-apiserver -- etcd         kubelet -> containerd -> pods
//	  :53   CoreDNS                        one mount namespace per node,
//	  :6379 Redis                          held by a pause process
//	  kube-controller-manager, kube-scheduler (loopback)
//
// A node's programs live in a mount namespace of their own. There the kubelet
// and containerd use the paths everybody expects (/run/containerd/containerd.sock,
// /var/lib/kubelet, /var/log/pods), so that manifests written for real nodes work
// as printed; on the host the same files lie in the testbed's folders. And all
// mounts vanish together with the last process of the node.
//
// Everything is born in one cgroup, which is how Down finds what an interrupted
// Up has left, and what it kills is never a process that it did not start.
package testbed
