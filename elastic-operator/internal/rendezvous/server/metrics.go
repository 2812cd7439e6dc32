package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/etcdv2"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Label values.
const (
	protocolTCPStore = "tcpstore"
	protocolEtcd     = "etcd"

	refusedConnections = "connections" // there are too many
	refusedProtocol    = "protocol"    // the first bytes are of none that is served
	refusedMessage     = "message"     // it cannot be read, or what it asks for cannot be done
	refusedJob         = "job"         // the key is of a job that is not served
	refusedQuota       = "quota"       // the job keeps too much already
	refusedSlow        = "slow"        // the client does not take its replies
)

var refusals = []string{refusedConnections, refusedProtocol, refusedMessage, refusedJob, refusedQuota, refusedSlow}

var openedLabels = map[healing.Reason]string{healing.Left: "left", healing.NotDone: "not_done"}

// metrics of a server. None has a label for the job: a server has few jobs, and their names are in its status.
type metrics struct {
	registry *prometheus.Registry
	accepted *prometheus.CounterVec
	requests *prometheus.CounterVec
	refused  *prometheus.CounterVec
	rounds   prometheus.Counter
	opened   *prometheus.CounterVec
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		accepted: meter.CounterVec(series.RendezvousAccepted),
		requests: meter.CounterVec(series.RendezvousRequests),
		refused:  meter.CounterVec(series.RendezvousRefused),
		rounds:   meter.Counter(series.RendezvousRounds),
		opened:   meter.CounterVec(series.RendezvousOpened),
	}
	m.zero()
	m.registry.MustRegister(m.accepted, m.requests, m.refused, m.rounds, m.opened)
	m.gauges(s)
	return m
}

// zero begins all series. A server lives as long as its job, and much is asked of it only once in that time.
func (m *metrics) zero() {
	for _, dialect := range tcpstore.Dialects() {
		meter.Zero(m.accepted, []string{dialect.String()})
	}
	for _, op := range tcpstore.Ops() {
		meter.Zero(m.requests, []string{protocolTCPStore, op.String()})
	}
	for _, kind := range etcdv2.Kinds() {
		meter.Zero(m.requests, []string{protocolEtcd, kind.String()})
	}
	for _, reason := range refusals {
		meter.Zero(m.refused, []string{reason})
	}
	for _, why := range openedLabels {
		meter.Zero(m.opened, []string{why})
	}
}

func (m *metrics) gauges(s *Server) {
	gauge := func(metric series.Metric, read func() int) {
		m.registry.MustRegister(meter.GaugeFunc(metric, func() float64 { return float64(read()) }))
	}
	locked := func(read func() int) func() int {
		return func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return read()
		}
	}
	gauge(series.RendezvousConnections, s.connections.count)
	gauge(series.RendezvousWaits, locked(func() int { return s.flat.Waits() + s.tree.Watches() }))
	gauge(series.RendezvousKeys, locked(func() int { return s.flat.Usage().Keys + s.tree.Usage().Keys }))
	gauge(series.RendezvousBytes, locked(func() int { return int(s.flat.Usage().Bytes + s.tree.Usage().Bytes) }))
	total := func(count func(JobStatus) int) func() int {
		return func() (n int) {
			for _, job := range s.Status().Jobs {
				n += count(job)
			}
			return n
		}
	}
	gauge(series.RendezvousParticipants, total(func(j JobStatus) int { return j.Participants }))
	gauge(series.RendezvousWaitingNodes, total(func(j JobStatus) int { return j.Waiting }))
	gauge(series.RendezvousClosed, total(func(j JobStatus) int {
		if j.Closed {
			return 1
		}
		return 0
	}))
}
