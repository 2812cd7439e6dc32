package valkey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var errDialled = errors.New("a subscription connects only once")

// subscription is a connection that receives messages, from its acknowledgment to its first error. It never reconnects
// automatically, because the caller must first read the changes that were missed.
type subscription struct {
	client   *redis.Client
	pubsub   *redis.PubSub
	messages chan any // *redis.Message or *redis.Pong
	failed   chan error
	closed   chan struct{}
}

// subscribe connects and waits for the acknowledgment of the channel or pattern.
func (s *Store) subscribe(ctx context.Context, pattern bool, channel string) (*subscription, error) {
	client := redis.NewClient(s.options.subscription())
	sub := &subscription{
		client: client, pubsub: client.Subscribe(ctx),
		messages: make(chan any), failed: make(chan error, 1), closed: make(chan struct{}),
	}
	if err := sub.listen(ctx, pattern, channel, s.options.Timeout); err != nil {
		sub.close()
		return nil, err
	}
	go sub.receive(ctx)
	return sub, nil
}

func (sub *subscription) listen(ctx context.Context, pattern bool, channel string, timeout time.Duration) error {
	listen := sub.pubsub.Subscribe
	if pattern {
		listen = sub.pubsub.PSubscribe
	}
	if err := listen(ctx, channel); err != nil {
		return err
	}
	answer, err := sub.pubsub.ReceiveTimeout(ctx, timeout)
	if err != nil {
		return err
	}
	if _, acknowledged := answer.(*redis.Subscription); !acknowledged {
		return fmt.Errorf("the store answered a subscription with %T", answer)
	}
	return nil
}

// receive delivers messages until the connection is lost or closed.
func (sub *subscription) receive(ctx context.Context) {
	for {
		m, err := sub.pubsub.Receive(ctx)
		if err != nil {
			sub.failed <- err
			return
		}
		select {
		case sub.messages <- m:
		case <-sub.closed:
			return
		}
	}
}

func (sub *subscription) close() {
	close(sub.closed)
	_ = sub.pubsub.Close()
	_ = sub.client.Close()
}

// subscription returns the options for the go-redis client of a subscription. They prevent automatic reconnects.
func (o Options) subscription() *redis.Options {
	c := o.client()
	var dialled atomic.Bool
	c.Dialer = func(ctx context.Context, _, address string) (net.Conn, error) {
		if dialled.Swap(true) {
			return nil, errDialled
		}
		return o.dial(ctx, listening, address)
	}
	return c
}
