//go:build envtest

package inprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// batched returns how many pods of the profile this process has scheduled using the result of the previous pod.
func batched(t *testing.T) float64 {
	t.Helper()
	metrics.Register()
	used, err := testutil.GetCounterMetricValue(metrics.BatchAttemptStats.WithLabelValues("default-scheduler", metrics.BatchAttemptHintUsed))
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// batchable turns off default topology spreading in the profile, because spreading prevents batching.
func (w *world) batchable() {
	w.Helper()
	content, err := os.ReadFile(shipped(inPlace))
	w.ok(err)
	text := string(content) + `
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
`
	file := filepath.Join(w.TempDir(), "batchable.yaml")
	w.ok(os.WriteFile(file, []byte(text), 0o600))
	w.schedulerFrom(apiServer, file)
}

// Each pod fills a node. Only then does the scheduler use the result of the previous pod.
func TestPodsAreStillBatched(t *testing.T) {
	const nodes, pods = 40, 30
	bad := []string{"node-00", "node-01", "node-02"}
	for name, exclusions := range map[string]func(*corev1.Pod){
		"pods without exclusions":       func(*corev1.Pod) {},
		"pods with the same exclusions": staysAwayFrom(bad...),
		"pods with an invalid list":     annotated(`["`),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range nodes {
				w.node(fmt.Sprintf("node-%02d", i), "1")
			}
			for i := range pods {
				w.pod(fmt.Sprintf("pod-%02d", i), exclusions)
			}
			before := batched(t)
			w.batchable()
			w.allLand(pods)
			if used := batched(t) - before; used < pods/2 {
				t.Errorf("%v of %d pods were batched", used, pods)
			}
		})
	}
}

// Two workloads that failed on different nodes take turns. The scheduler must not use the result of one for the other.
func TestBatchHintRespectsExclusions(t *testing.T) {
	const each = 12
	w := newWorld(t)
	for i := range each {
		w.node(fmt.Sprintf("left-%02d", i), "1")
		w.node(fmt.Sprintf("right-%02d", i), "1")
	}
	var left, right []string
	for i := range each {
		left, right = append(left, fmt.Sprintf("left-%02d", i)), append(right, fmt.Sprintf("right-%02d", i))
	}
	for i := range each {
		w.pod(fmt.Sprintf("pod-%02d", 2*i), staysAwayFrom(left...))
		w.pod(fmt.Sprintf("pod-%02d", 2*i+1), staysAwayFrom(right...))
	}
	w.batchable()
	w.allLand(2 * each)
	for i := range each {
		if node := w.get(fmt.Sprintf("pod-%02d", 2*i)).Spec.NodeName; !strings.HasPrefix(node, "right") {
			t.Errorf("pod %d is on %s", 2*i, node)
		}
		if node := w.get(fmt.Sprintf("pod-%02d", 2*i+1)).Spec.NodeName; !strings.HasPrefix(node, "left") {
			t.Errorf("pod %d is on %s", 2*i+1, node)
		}
	}
}
