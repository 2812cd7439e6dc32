//go:build e2e

package charts

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

// Each chart is installed on its own. Later steps depend on earlier ones. What the test leaves behind still exists when
// all charts are installed together.
func TestEachChartAlone(t *testing.T) {
	for _, c := range charts {
		t.Run(c.name, func(t *testing.T) {
			i := install(t, c, "alone-"+c.name)
			i.awaitPods()
			i.apply("sample")
			i.awaitWorked("sample")
			i.checkMetrics()

			definition, sample, pods := i.definition(), i.uid("sample"), i.podUIDs()
			i.OK(i.release.Upgrade(t.Context(), c.all(helm.Values{"logLevel": "debug", "commonLabels": helm.Values{"upgraded": "yes"}})))
			i.awaitPods()
			if i.definition() != definition || i.uid("sample") != sample {
				t.Error("the upgrade has replaced the definition, or the sample")
			}
			if now := i.podUIDs(); same(pods, now) {
				t.Errorf("the upgrade has not replaced the pods: %v", now)
			}
			i.apply("later")
			i.awaitWorked("later")
			i.checkNothingForbidden()

			i.OK(i.release.Uninstall())
			i.awaitNothingLeft()
			if i.definition() != definition || i.uid("sample") != sample {
				t.Error("uninstalling has replaced the definition, or the sample")
			}
		})
	}
}

func same(a, b map[types.UID]bool) bool {
	for uid := range a {
		if !b[uid] {
			return false
		}
	}
	return true
}

// All charts are installed together, over the CRDs and objects left behind by earlier releases with other names.
func TestAllChartsTogether(t *testing.T) {
	var all []*installation
	for _, c := range charts {
		all = append(all, install(t, c, "together-"+c.name))
	}
	for _, i := range all {
		i.awaitPods()
		i.apply("together")
	}
	for _, i := range all {
		i.awaitWorked("together")
		i.checkNothingForbidden()
	}
	for _, i := range all { // the programs that delete their objects run again
		for _, name := range []string{"sample", "later", "together"} {
			i.remove(name)
		}
	}
	for _, i := range all {
		i.OK(i.release.Uninstall())
		i.awaitNothingLeft()
	}
}
