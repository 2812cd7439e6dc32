package server

import (
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

// newMetrics creates and registers the metrics.
func newMetrics(s *Server) meter.Counters {
	s.registry.MustRegister(
		meter.GaugeFunc(series.RendezvousConnections, func() float64 { return float64(s.connections.Load()) }),
		meter.GaugeFunc(series.RendezvousParticipants, func() float64 { return float64(s.Status().Participants) }),
		meter.GaugeFunc(series.RendezvousWaitingNodes, func() float64 { return float64(s.Status().Waiting) }),
	)
	m := meter.NewCounters(s.registry,
		series.RendezvousAccepted, series.RendezvousRequests, series.RendezvousRefused, series.RendezvousRounds, series.RendezvousOpened)
	m.Zero(series.RendezvousAccepted, string(tcpstore.Classic), string(tcpstore.Validated))
	for _, op := range tcpstore.Ops[tcpstore.Validated] { // includes those of the classic dialect
		if op != tcpstore.OpNone {
			m.Zero(series.RendezvousRequests, string(op))
		}
	}
	m.Zero(series.RendezvousRefused, refusedConnections, refusedProtocol, refusedMessage, refusedJob, refusedQuota, refusedSlow)
	m.Zero(series.RendezvousOpened, agentLeft, jobNotDone)
	return m
}
