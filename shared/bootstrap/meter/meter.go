// Package meter creates the metrics of a program from their definitions in shared/series. A lint rule ensures that no other code creates
// metrics, so every series in a dashboard is served by a program.
package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/series"
)

// Counter returns a counter without labels.
func Counter(m series.Metric) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: m.Name, Help: m.Help})
}

// CounterVec returns a counter with the labels of its definition.
func CounterVec(m series.Metric) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
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

// Zero creates series with the given label values before anything is counted, because Prometheus would miss the first increase of a new
// series.
func Zero[M any](of interface{ WithLabelValues(values ...string) M }, series ...[]string) {
	for _, values := range series {
		of.WithLabelValues(values...)
	}
}
