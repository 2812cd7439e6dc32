// Package meter makes the metrics of a program of their definitions in shared/series. No other code makes any, which the repository's
// own rules check: so every series that a dashboard names is one that a program serves.
package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/series"
)

// Counter makes one without labels.
func Counter(m series.Metric) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: m.Name, Help: m.Help})
}

// CounterFunc makes one that is read when it is asked for.
func CounterFunc(m series.Metric, read func() float64) prometheus.CounterFunc {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, read)
}

// CounterVec makes one with the labels of its definition.
func CounterVec(m series.Metric) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
}

// Gauge makes one without labels.
func Gauge(m series.Metric) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: m.Name, Help: m.Help})
}

// GaugeFunc makes one that is read when it is asked for.
func GaugeFunc(m series.Metric, read func() float64) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, read)
}

// GaugeVec makes one with the labels of its definition.
func GaugeVec(m series.Metric) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
}

// Histogram makes one without labels; buckets are upper bounds, in the metric's unit.
func Histogram(m series.Metric, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets})
}

// HistogramVec makes one with the labels of its definition.
func HistogramVec(m series.Metric, buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets}, m.Labels)
}

// Desc is for a collector of its own.
func Desc(m series.Metric) *prometheus.Desc { return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil) }

// Zero begins series of a counter or a histogram, by the values of its labels, before anything is counted. Without that the first
// increase is seen by nobody: a counter that appears with 1 has not grown.
func Zero[M any](of interface{ WithLabelValues(values ...string) M }, series ...[]string) {
	for _, values := range series {
		of.WithLabelValues(values...)
	}
}
