package cri

import (
	"context"
	"strings"
	"sync"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// safetyPoll is the polling interval while events arrive, in case an event is lost.
	safetyPoll = 10 * time.Second
	// maxBackoff is the longest pause between attempts to subscribe to events.
	maxBackoff = 30 * time.Second
)

// Watch calls wake whenever the worker may have changed, until ctx is done: for each event from the runtime, or at the
// polling interval if there are no events. wake must not block. A subscriber that does not read its events eventually
// blocks the runtime of the whole node, so the reader does nothing but call wake.
func (c *Client) Watch(ctx context.Context, wake func()) {
	var subscription sync.WaitGroup
	subscription.Go(func() { c.subscribe(ctx, wake) })
	c.poll(ctx, wake)
	subscription.Wait()
}

// poll calls wake at the polling interval while no events arrive, and at safetyPoll while they do.
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

// subscribe maintains a subscription to events. It backs off between failed attempts.
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

// read calls wake for each event of the pod until the stream ends, and reports whether any event arrived. A stream
// counts as live from its first event on, because a runtime without event support may fail late or not at all.
func (c *Client) read(ctx context.Context, wake func()) (heard bool) {
	stream, err := c.rpc.GetContainerEvents(ctx, &runtime.GetEventsRequest{})
	if err != nil {
		return false
	}
	wake() // something may have happened between two subscriptions
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

// ours reports whether an event may concern the pod. The stream carries events for the whole node.
func (c *Client) ours(e *runtime.ContainerEventResponse) bool {
	uid := e.GetPodSandboxStatus().GetMetadata().GetUid()
	return uid == c.options.PodUID || uid == ""
}

// maySubscribe reports whether the runtime sends every event to all subscribers. In containerd before version 2, each
// event goes to only one subscriber, so this one would take events from the kubelet and from other agents on the node.
func (c *Client) maySubscribe(ctx context.Context) bool {
	v, err := c.rpc.Version(ctx, &runtime.VersionRequest{})
	return err == nil && (v.RuntimeName != "containerd" || !strings.HasPrefix(strings.TrimPrefix(v.RuntimeVersion, "v"), "1."))
}
