package valkey

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"golang.org/x/sys/unix"
)

// handshakeTimeout limits a TLS handshake. The store's single thread performs the handshakes of all agents: after the store restarts,
// an agent may have to wait in the kernel's queue behind all others. A handshake that the agent abandons costs the store as much as
// any other.
const handshakeTimeout = 30 * time.Second

// silenceLimit is how long the server's kernel may take to acknowledge data. The kernel acknowledges data even while the store is too
// busy to read it, so a lost server is also detected during a handshake.
const silenceLimit = 6 * time.Second

// listening makes the kernel detect within a few seconds that the peer of an idle subscription is gone. Unlike pings, this costs the
// store's process nothing: pings from thousands of idle agents would take up most of its time. Pings are only needed to detect a
// store that hangs. calling is the same for a pooled connection, which needs it only during a handshake.
var (
	listening = net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 3}
	calling   = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: time.Second, Count: 3}
)

// client returns the options for go-redis. Retries are safe, because every call may be repeated.
func (o Options) client() *redis.Options {
	return &redis.Options{
		Protocol: 2, // no push messages: a subscription has its own connection
		Addr:     o.Address, ClientName: o.ClientName,
		Dialer:                     (&pool{Options: o}).dial,
		CredentialsProviderContext: o.credentials,
		PoolSize:                   o.PoolSize,
		PipelinePoolSize:           -1, // pipelines share the connections of the pool
		MaxRetries:                 1,  // a pooled connection may have been lost unnoticed
		DialerRetries:              1,
		DialTimeout:                o.Timeout + handshakeTimeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true, // no CLIENT SETINFO, which a member's user is not allowed to call
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func (o Options) credentials(context.Context) (username, password string, err error) {
	if o.PasswordFile == "" {
		return o.Username, "", nil
	}
	secret, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return "", "", fmt.Errorf("reading the store's password: %w", err)
	}
	return o.Username, strings.TrimRight(string(secret), "\r\n"), nil
}

// dial connects to the server. With TLS, it returns after the handshake.
func (o Options) dial(ctx context.Context, alive net.KeepAliveConfig, address string) (net.Conn, error) {
	conn, err := o.open(ctx, alive, address)
	secure, ok := conn.(*tls.Conn)
	if err != nil || !ok {
		return conn, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS handshake with the store: %w", err)
	}
	return secure, nil
}

// open connects to the server. With TLS, the handshake follows when the connection is used.
func (o Options) open(ctx context.Context, alive net.KeepAliveConfig, address string) (net.Conn, error) {
	secure, err := o.TLS.Config()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: o.Timeout, KeepAliveConfig: alive, Control: limitSilence}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil || secure == nil {
		return conn, err
	}
	if secure.ServerName == "" {
		secure.ServerName, _, _ = net.SplitHostPort(address)
	}
	return tls.Client(conn, secure), nil
}

func limitSilence(_, _ string, conn syscall.RawConn) (err error) {
	failed := conn.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silenceLimit.Milliseconds()))
	})
	return cmp.Or(failed, err)
}

// pool connects on behalf of a go-redis pool. Once the number of failed attempts has reached the size of the pool, go-redis connects
// at intervals only to check whether the server is back. It closes such a connection without using it, so a handshake would be
// wasted.
type pool struct {
	Options
	failures atomic.Int64
}

func (p *pool) dial(ctx context.Context, _, address string) (net.Conn, error) {
	connect := p.Options.dial
	probes := p.failures.Load() >= int64(p.PoolSize)
	if probes {
		connect = p.open
	}
	conn, err := connect(ctx, calling, address)
	switch {
	case err != nil:
		p.failures.Add(1)
	case probes:
		p.failures.Store(0)
	}
	return conn, err
}
