package appwrapper

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Metrics holds the controller's counters. No label contains an object's name.
type Metrics struct{ meter.Counters }

func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{meter.NewCounters(registerer, series.Phases, series.Resets)}
	for _, end := range policy.Resets {
		m.Zero(series.Resets, resetLabels(end)...)
	}
	return m
}

func resetLabels(end policy.End) []string {
	return []string{end.Reason, strconv.FormatBool(!end.Evacuation)}
}

// count updates the counters after the status was written. As in the upstream controller, Terminating is not counted.
func (m *Metrics) count(s *scope, d *policy.Decision, before v1beta2.AppWrapperPhase) {
	if d.Next != before && d.Next != v1beta2.Terminating {
		m.Inc(series.Phases, s.aw.Namespace, string(d.Next))
	}
	if d.Ends != nil && d.Next == v1beta2.Resetting {
		m.Inc(series.Resets, resetLabels(*d.Ends)...)
	}
}

// quotaCollector reports pods that hold quota without running. It reads the cache on each scrape.
type quotaCollector struct {
	reader client.Reader
	desc   *prometheus.Desc
}

// NewQuotaCollector returns a collector that counts the pods of AppWrappers that hold quota while some of their pods are not
// running.
func NewQuotaCollector(reader client.Reader) prometheus.Collector {
	return quotaCollector{reader, meter.Desc(series.QuotaHeld)}
}

func (h quotaCollector) Describe(out chan<- *prometheus.Desc) { out <- h.desc }

func (h quotaCollector) Collect(out chan<- prometheus.Metric) {
	var list v1beta2.AppWrapperList
	if err := h.reader.List(context.Background(), &list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	pods := map[v1beta2.AppWrapperPhase]int32{}
	for _, phase := range []v1beta2.AppWrapperPhase{v1beta2.Resuming, v1beta2.Running, v1beta2.Resetting, v1beta2.Suspending, v1beta2.Failed, v1beta2.Terminating} {
		pods[phase] = 0
	}
	for i := range list.Items {
		status := &list.Items[i].Status
		holds := meta.IsStatusConditionTrue(status.Conditions, string(v1beta2.QuotaReserved))
		ready := meta.IsStatusConditionTrue(status.Conditions, string(v1beta2.PodsReady))
		if !holds || (ready && status.Phase == v1beta2.Running) {
			continue
		}
		for _, c := range status.ComponentStatus {
			for _, set := range c.PodSets {
				pods[status.Phase] += set.Count()
			}
		}
	}
	for phase, n := range pods {
		out <- prometheus.MustNewConstMetric(h.desc, prometheus.GaugeValue, float64(n), string(phase))
	}
}
