package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Values of the reason label.
const (
	refusedConnections = "connections" // too many connections
	refusedProtocol    = "protocol"    // unknown protocol
	refusedMessage     = "message"     // malformed message or failed operation
	refusedJob         = "job"         // the key belongs to another job
	refusedQuota       = "quota"       // the store is full
	refusedSlow        = "slow"        // the client does not read its replies
)

var refusals = []string{refusedConnections, refusedProtocol, refusedMessage, refusedJob, refusedQuota, refusedSlow}

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
	m.registry.MustRegister(m.accepted, m.requests, m.refused, m.rounds, m.opened)
	m.gauges(s)
	meter.Zero(m.accepted, []string{string(tcpstore.Classic)}, []string{string(tcpstore.Validated)})
	for _, op := range tcpstore.Ops[tcpstore.Validated] { // includes those of the classic dialect
		meter.Zero(m.requests, []string{string(op)})
	}
	for _, reason := range refusals {
		meter.Zero(m.refused, []string{reason})
	}
	meter.Zero(m.opened, []string{agentLeft}, []string{jobNotDone})
	return m
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
	gauge(series.RendezvousConnections, func() int { return int(s.connections.Load()) })
	gauge(series.RendezvousWaits, locked(s.store.Waits))
	gauge(series.RendezvousKeys, locked(func() int { return s.store.Used().Keys }))
	gauge(series.RendezvousBytes, locked(func() int { return int(s.store.Used().Bytes) }))
	gauge(series.RendezvousParticipants, func() int { return s.Status().Participants })
	gauge(series.RendezvousWaitingNodes, func() int { return s.Status().Waiting })
	gauge(series.RendezvousClosed, func() int {
		if s.Status().Closed {
			return 1
		}
		return 0
	})
}
