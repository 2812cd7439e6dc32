package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
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
		accepted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rendezvous_accepted_total",
			Help: "Connections by what the client speaks: classic and validated are TCPStore, http is etcd.",
		}, []string{"dialect"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rendezvous_requests_total",
			Help: "Requests, by protocol and operation.",
		}, []string{"protocol", "operation"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rendezvous_refused_total",
			Help: "Connections and requests that were refused, by reason.",
		}, []string{"reason"}),
		rounds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_rendezvous_rounds_total",
			Help: "Rounds that were completed.",
		}),
		opened: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_rendezvous_opened_total",
			Help: "Rendezvous that agents had closed and that were opened again: left, others still trained; not_done, all had ended and the job had not.",
		}, []string{"reason"}),
	}
	for _, why := range openedLabels {
		m.opened.WithLabelValues(why)
	}
	m.registry.MustRegister(m.accepted, m.requests, m.refused, m.rounds, m.opened)
	m.gauges(s)
	return m
}

func (m *metrics) gauges(s *Server) {
	gauge := func(name, help string, read func() int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) }))
	}
	locked := func(read func() int) func() int {
		return func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return read()
		}
	}
	gauge("holdfast_rendezvous_connections", "Connections that are open.", s.connections.count)
	gauge("holdfast_rendezvous_waits", "Keys and paths that clients wait for.", locked(func() int { return s.flat.Waits() + s.tree.Watches() }))
	gauge("holdfast_rendezvous_keys", "Keys that are stored.", locked(func() int { return s.flat.Usage().Keys + s.tree.Usage().Keys }))
	gauge("holdfast_rendezvous_bytes", "Bytes that are stored, with what keys cost beside theirs.", locked(func() int { return int(s.flat.Usage().Bytes + s.tree.Usage().Bytes) }))
	total := func(count func(JobStatus) int) func() int {
		return func() (n int) {
			for _, job := range s.Status().Jobs {
				n += count(job)
			}
			return n
		}
	}
	gauge("holdfast_rendezvous_participants", "Agents that take part in the current rounds.", total(func(j JobStatus) int { return j.Participants }))
	gauge("holdfast_rendezvous_waiting_nodes", "Agents that wait for the next round.", total(func(j JobStatus) int { return j.Waiting }))
	gauge("holdfast_rendezvous_closed", "Rendezvous that are closed.", total(func(j JobStatus) int {
		if j.Closed {
			return 1
		}
		return 0
	}))
}
