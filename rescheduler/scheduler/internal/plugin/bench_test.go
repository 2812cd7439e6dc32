package plugin

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/clock"
)

// BenchmarkCycle measures what the plugin adds to one attempt to schedule a pod: PreFilter, and Filter on the number of nodes that the
// scheduler considers (5 % of all nodes, but at least 100).
func BenchmarkCycle(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 15000} {
		infos := benchNodes(b, nodes)
		for _, c := range []struct{ name, annotation string }{
			{"no-annotation", ""}, {"excluded", `["node-1","node-2","node-3"]`},
		} {
			b.Run(fmt.Sprintf("%s/nodes=%d", c.name, nodes), func(b *testing.B) {
				p, pod := newPlugin(args{OnExhaustion: relax}, &handle{}, clock.RealClock{}), makePod("pod")
				if c.annotation != "" {
					pod = makePod("pod", c.annotation)
				}
				b.ReportAllocs()
				for b.Loop() {
					state := framework.NewCycleState()
					if _, status := p.PreFilter(b.Context(), state, pod, infos); status.IsSkip() {
						continue
					}
					for _, node := range infos[:max(100, nodes/20)] {
						p.Filter(b.Context(), state, pod, node)
					}
				}
			})
		}
	}
}

func benchNodes(b *testing.B, n int) []fwk.NodeInfo {
	b.Helper()
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		nodes[i] = makeNode(fmt.Sprintf("node-%d", i))
	}
	infos, err := cache.NewSnapshot(nil, nodes).NodeInfos().List()
	if err != nil {
		b.Fatal(err)
	}
	return infos
}
