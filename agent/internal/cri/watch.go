package cri

import (
	"context"
	"strings"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// safetyPoll is how often to poll although events arrive: one may be lost.
	safetyPoll = 10 * time.Second
	// maxBackoff is the longest pause before the events are asked for again.
	maxBackoff = 30 * time.Second
)

// Watch calls wake whenever it is worth looking at the worker, until ctx ends: at the runtime's events, else at the polling
// interval. wake must not block. A runtime whose subscriber does not read ends up blocking the whole node, so the
// reader does nothing but wake.
func (c *Client) Watch(ctx context.Context, wake func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.subscribe(ctx, wake)
	}()
	c.poll(ctx, wake)
	<-done
}

// poll wakes at the polling interval while there are no events, and seldom while there are.
func (c *Client) poll(ctx context.Context, wake func()) {
	ticker := time.NewTicker(c.options.PollingInterval)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if !c.live.Load() || now.Sub(last) >= c.safety {
				last = now
				wake()
			}
		}
	}
}

// subscribe keeps a subscription, and asks for a new one later and later while that fails.
func (c *Client) subscribe(ctx context.Context, wake func()) {
	pause := c.backoff
	for ctx.Err() == nil {
		heard := c.maySubscribe(ctx) && c.read(ctx, wake)
		c.live.Store(false)
		if heard {
			pause = c.backoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxBackoff)
	}
}

// read wakes for each event of the pod until the stream ends. It reports whether there was any event: a stream counts as
// live from its first, because a runtime without events may fail late or never.
func (c *Client) read(ctx context.Context, wake func()) (heard bool) {
	stream, err := c.rpc.GetContainerEvents(ctx, &runtime.GetEventsRequest{})
	if err != nil {
		return false
	}
	wake() // what happened between two subscriptions
	for {
		event, err := stream.Recv()
		if err != nil {
			return heard
		}
		heard = true
		c.live.Store(true)
		if c.ours(event) {
			wake()
		}
	}
}

// ours reports whether an event may be the pod's: the stream carries those of the whole node.
func (c *Client) ours(e *runtime.ContainerEventResponse) bool {
	uid := e.GetPodSandboxStatus().GetMetadata().GetUid()
	return uid == c.options.PodUID || uid == ""
}

// maySubscribe refuses runtimes that hand each event to one subscriber only: ours would take the kubelet's and those of
// the other agents on the node. containerd did so before version 2.
func (c *Client) maySubscribe(ctx context.Context) bool {
	ctx, cancel := within(ctx)
	defer cancel()
	v, err := c.rpc.Version(ctx, &runtime.VersionRequest{})
	return err == nil && (v.RuntimeName != "containerd" || !strings.HasPrefix(strings.TrimPrefix(v.RuntimeVersion, "v"), "1."))
}
