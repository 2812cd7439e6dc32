package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Labels and the taint of a simulated node.
const (
	// TypeLabel has the value Type on each simulated node.
	TypeLabel = "type"
	Type      = "simulated"
	// TaintKey is the key of the taint simulated=true:NoSchedule.
	TaintKey = "simulated"
	// NameLabel names the simulation that a node belongs to.
	NameLabel = "simulated.holdfast.dev/name"
	// PoolLabel names the node's pool, NAME-pool-N counted from 1.
	PoolLabel = "cloud.google.com/gke-nodepool"
	// GPU is the extended resource that nodes advertise.
	GPU corev1.ResourceName = "nvidia.com/gpu"
)

// Options configure the simulated nodes. Zero fields take the defaults.
type Options struct {
	// Name is the name of the simulation and the prefix of its nodes' names; "sim" by default.
	Name  string
	Nodes int
	// Pools is the number of node pools. They are contiguous ranges of nodes of equal size; 1 by default.
	Pools int
	// GPUs is the number of nvidia.com/gpu devices on each node; 8 by default.
	GPUs int
	// MaxPods is the maximum number of pods on each node; 110 by default, as for a kubelet.
	MaxPods int
	// Rules describe the kubelets' behavior; KubeletRules by default.
	Rules *Rules
	// Heartbeat is the interval at which leases are renewed; 20 s by default. A negative one turns leases off, for a
	// control plane that does not need them (kube-controller-manager --node-monitor-grace-period=24h).
	Heartbeat time.Duration
	// Workers is the maximum number of concurrent API calls; 64 by default.
	Workers int
	// Observe, if set, is called for each start of a container, in order for each pod. It must return immediately,
	// because it blocks a worker.
	Observe func(pod *corev1.Pod, start Started)
	// Ended, if set, is called once for each deleted pod when its containers have ended. That is before the API server
	// knows, unless the pod was force-deleted. It must return immediately.
	Ended func(pod *corev1.Pod)
}

func (o Options) defaulted() Options {
	if o.Name == "" {
		o.Name = "sim"
	}
	if o.Rules == nil {
		rules := KubeletRules()
		o.Rules = &rules
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 20 * time.Second
	}
	for field, value := range map[*int]int{&o.Pools: 1, &o.GPUs: 8, &o.MaxPods: 110, &o.Workers: 64} {
		if *field == 0 {
			*field = value
		}
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	for name, value := range map[string]int{
		"nodes": o.Nodes, "pools": o.Pools, "GPUs": o.GPUs, "pods of a node": o.MaxPods, "workers": o.Workers,
	} {
		if value < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is negative", name, value))
		}
	}
	return errors.Join(errs...)
}
