package main

import (
	"fmt"
	"math/rand/v2"

	kubeschedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/scheduler/internal/plugin"
)

// shape is the shape of the pods: small pods, many of which share a node, or pods that each fill a node. The scheduler batches only
// the latter.
type shape struct {
	Name   string
	cpus   string
	share  int  // divisor of the number of pods; 2 leaves nodes free
	spread bool // spread over zones and hosts by default, which prevents batching
}

var shapes = []shape{
	{Name: "many pods on a node", cpus: "100m", share: 1, spread: true},
	{Name: "one pod on a node, batched", cpus: "3", share: 2, spread: false},
}

// variant is a variant of the scheduler's configuration and of the pods.
type variant struct {
	Name     string
	on       bool
	percent  int  // percentage of pods with exclusions
	excluded int  // number of nodes that each of them avoids; 0 means the value of the command's flag
	same     bool // all have the same exclusions, like the pods of one workload
}

var variants = []variant{
	{Name: "plugin off"},
	{Name: "on, no pod with exclusions", on: true},
	{Name: "on, 1 % with exclusions", on: true, percent: 1},
	{Name: "on, 100 % with exclusions", on: true, percent: 100},
	{Name: "on, 100 %, all with the same", on: true, percent: 100, same: true},
	{Name: "on, 100 %, the maximum number of nodes", on: true, percent: 100, excluded: memory.MaxHosts},
}

// configuration returns the scheduler's default configuration, with the plugin if it is enabled, and without a request rate limit.
func (v variant) configuration(s shape) (*kubeschedulerconfig.KubeSchedulerConfiguration, error) {
	configuration, err := latest.Default()
	if err != nil {
		return nil, err
	}
	p := &configuration.Profiles[0]
	if v.on {
		p.Plugins.MultiPoint.Enabled = append(p.Plugins.MultiPoint.Enabled, kubeschedulerconfig.Plugin{Name: plugin.Name})
		p.Plugins.PostFilter.Enabled = append(p.Plugins.PostFilter.Enabled, kubeschedulerconfig.Plugin{Name: plugin.Name})
	}
	for i := range p.PluginConfig {
		if args, ok := p.PluginConfig[i].Args.(*kubeschedulerconfig.PodTopologySpreadArgs); ok && !s.spread && p.PluginConfig[i].Name == names.PodTopologySpread {
			args.DefaultingType = kubeschedulerconfig.ListDefaulting
		}
	}
	return configuration, nil
}

// annotations returns the annotations of the i-th pod. They are the same in each round.
func (v variant) annotations(i, nodes, excluded int) map[string]string {
	if i%100 >= v.percent {
		return nil
	}
	if v.excluded > 0 {
		excluded = v.excluded
	}
	seed := uint64(i)
	if v.same {
		seed = 0
	}
	random := rand.New(rand.NewPCG(seed, 1))
	hosts := make([]string, excluded)
	for j := range hosts {
		hosts[j] = nodeName(random.IntN(nodes))
	}
	return map[string]string{memory.HostsAnnotation: memory.FormatHosts(hosts)}
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }
