// Package series defines every metric once. Programs create their metrics from these definitions (shared/bootstrap/meter), and dashboards,
// alerts and the reference are generated from them. Labels have few values, and none names an object.
package series

import "slices"

// Type is a Prometheus metric type.
type Type string

// The types in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric is a metric that programs serve.
type Metric struct {
	Name   string
	Type   Type
	Help   string
	Labels []string
	// Programs that serve the metric.
	Programs []string
}

// Programs, named after their folders or binaries.
const (
	JobSetManager     = "jobset-manager"
	Orchestrator      = "jobset-orchestrator"
	AppWrapperManager = "appwrapper-manager"
	ElasticManager    = "elastic-manager"
	Rendezvous        = "elastic-rendezvous"
	Rescheduler       = "rescheduler-manager"
	Scheduler         = "rescheduler-scheduler"
)

// All returns all metrics in the order of the reference: by program, then by name.
func All() []Metric {
	return slices.Concat([]Metric{BuildInfo, WebhookCertificateEnd}, restarts, jobSets, groups, appWrappers, elasticJobs, rendezvous, moves, scheduling)
}

// Samples returns the names under which a metric is stored. A histogram has three.
func (m Metric) Samples() []string {
	if m.Type == Histogram {
		return []string{m.Name + "_bucket", m.Name + "_count", m.Name + "_sum"}
	}
	return []string{m.Name}
}

// Bucket returns the name of a histogram's buckets.
func (m Metric) Bucket() string { return m.Name + "_bucket" }

// Sum returns the name of a histogram's sum.
func (m Metric) Sum() string { return m.Name + "_sum" }

// Count returns the name of a histogram's count.
func (m Metric) Count() string { return m.Name + "_count" }

func counter(name, help string, labels ...string) Metric {
	return Metric{Name: name, Type: Counter, Help: help, Labels: labels}
}

func gauge(name, help string, labels ...string) Metric {
	return Metric{Name: name, Type: Gauge, Help: help, Labels: labels}
}

func histogram(name, help string, labels ...string) Metric {
	return Metric{Name: name, Type: Histogram, Help: help, Labels: labels}
}

func (m Metric) of(programs ...string) Metric {
	m.Programs = programs
	return m
}

// ServedBy reports whether a program serves the metric.
func (m Metric) ServedBy(program string) bool { return slices.Contains(m.Programs, program) }
