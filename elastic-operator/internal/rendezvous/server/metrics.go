package server

import (
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// newMetrics creates and registers the metrics.
func newMetrics(s *Server) meter.Counters {
	s.registry.MustRegister(
		meter.GaugeFunc(series.RendezvousConnections, func() float64 { return float64(s.connections.Load()) }),
		meter.GaugeFunc(series.RendezvousParticipants, func() float64 { return float64(s.Status().Participants) }),
		meter.GaugeFunc(series.RendezvousWaitingNodes, func() float64 { return float64(s.Status().Waiting) }),
	)
	m := meter.NewCounters(s.registry, series.RendezvousRequests, series.RendezvousRefused, series.RendezvousRounds, series.RendezvousOpened)
	for _, op := range tcpstore.Ops[tcpstore.Validated] { // includes those of the classic dialect
		if op != tcpstore.OpNone {
			m.Zero(series.RendezvousRequests, string(op))
		}
	}
	m.Zero(series.RendezvousOpened, agentLeft, jobNotDone)
	return m
}
