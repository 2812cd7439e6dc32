package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What marks a simulated node. The taint keeps everything away that does not ask for it.
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
	// GPU is the resource that each node has some of.
	GPU corev1.ResourceName = "nvidia.com/gpu"
)

// Options say the simulated nodes. Zero fields take the defaults.
type Options struct {
	// Name is the name of the simulation, which begins the names of its nodes; "sim" by default.
	Name  string
	Nodes int
	// Pools is the number of node pools the nodes are dealt out to in equal, connected parts; 1 by default.
	Pools int
	// GPUs is each node's number of nvidia.com/gpu; 8 by default.
	GPUs int
	// MaxPods is what a node takes; 110 by default, as of a kubelet.
	MaxPods int
	// Rules are KubeletRules by default.
	Rules *Rules
	// Heartbeat is the period in which leases are renewed; 20 s by default. A negative one leaves them out, which is for
	// control planes that do not miss them (kube-controller-manager --node-monitor-grace-period=24h).
	Heartbeat time.Duration
	// Workers is the number of API calls under way at the same time; 64 by default.
	Workers int
	// Observe, if set, is told of each start of a container, in the order of each pod's. It must return at once, for it holds
	// up a worker.
	Observe func(pod *corev1.Pod, start Started)
	// Ended, if set, is told once of each deleted pod when its containers have ended: before the API server knows, unless the
	// pod was removed without waiting for them. It must return at once too.
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
