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
	m.registry.MustRegister(m.accepted, m.requests, m.refused, m.rounds, m.opened,
		meter.GaugeFunc(series.RendezvousConnections, func() float64 { return float64(s.connections.Load()) }),
		meter.GaugeFunc(series.RendezvousParticipants, func() float64 { return float64(s.Status().Participants) }),
		meter.GaugeFunc(series.RendezvousWaitingNodes, func() float64 { return float64(s.Status().Waiting) }),
	)
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
