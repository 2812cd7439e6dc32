// Package meter creates a program's metrics from their definitions in shared/series. A lint rule ensures that no other code creates metrics, so
// every series in a dashboard is served by a program.
package meter

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/series"
)

// Counters holds a program's counters by name.
type Counters map[string]*prometheus.CounterVec

// NewCounters creates and registers counters. Those without labels start at 0.
func NewCounters(registerer prometheus.Registerer, metrics ...series.Metric) Counters {
	c := Counters{}
	for _, m := range metrics {
		c[m.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
		registerer.MustRegister(c[m.Name])
		if len(m.Labels) == 0 {
			c.Add(m, 0)
		}
	}
	return c
}

// Zero creates series before anything is counted, because Prometheus would miss the first increase of a new series. values are the label
// values of one series after the other.
func (c Counters) Zero(m series.Metric, values ...string) {
	for labels := range slices.Chunk(values, len(m.Labels)) {
		c.Add(m, 0, labels...)
	}
}

// Inc adds 1 to the counter with the label values.
func (c Counters) Inc(m series.Metric, labels ...string) { c.Add(m, 1, labels...) }

// Add adds to the counter with the label values.
func (c Counters) Add(m series.Metric, by float64, labels ...string) {
	c[m.Name].WithLabelValues(labels...).Add(by)
}

// Gauge returns a gauge without labels.
func Gauge(m series.Metric) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: m.Name, Help: m.Help})
}

// GaugeFunc returns a gauge that is computed on each scrape.
func GaugeFunc(m series.Metric, read func() float64) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, read)
}

// GaugeVec returns a gauge with the labels of its definition.
func GaugeVec(m series.Metric) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
}

// Histogram returns a histogram without labels. buckets are upper bounds in the metric's unit.
func Histogram(m series.Metric, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets})
}

// HistogramVec returns a histogram with the labels of its definition.
func HistogramVec(m series.Metric, buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets}, m.Labels)
}

// Desc returns the description for a custom collector.
func Desc(m series.Metric) *prometheus.Desc { return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil) }
