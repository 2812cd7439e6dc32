package valkey

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options configure the connection to the server. Only Address is required.
type Options struct {
	Address      string // host:port
	Username     string // ACL user; if empty, the default user is used
	PasswordFile string // read for each connection, so that no restart is needed after the password is rotated
	TLS          TLSFiles
	ClientName   string // shown in CLIENT LIST

	PoolSize     int           // connections for calls, in addition to one for each Watch; default 1, but leaders need more
	Timeout      time.Duration // timeout for dialing, for writing and for an answer; default 2 s
	Resync       time.Duration // a Watch rereads the level after a random time between half this interval and all of it; default 30 s
	PingInterval time.Duration // a subscription without traffic for two intervals is closed; default 10 s
	MaxBackoff   time.Duration // the longest pause before a Watch reconnects; default 5 s

	OnLost func(error) // called with the reason whenever WatchAll loses its subscription; optional
}

func (o Options) withDefaults() Options {
	o.PoolSize = cmp.Or(o.PoolSize, 1)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Resync = cmp.Or(o.Resync, 30*time.Second)
	o.PingInterval = cmp.Or(o.PingInterval, 10*time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 5*time.Second)
	if o.OnLost == nil {
		o.OnLost = func(error) {}
	}
	return o
}

func (o Options) check() error {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return fmt.Errorf("store address %q: want host:port: %w", o.Address, err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return fmt.Errorf("store address %q: want host:port with a port from 1 to 65535", o.Address)
	}
	_, err = o.TLS.Config()
	return err
}

// client returns the options for go-redis. Retries are safe, because every call may be repeated.
func (o Options) client() *redis.Options {
	return &redis.Options{
		Protocol: 2, // no push messages: a subscription has its own connection
		Addr:     o.Address, ClientName: o.ClientName,
		Dialer:                     o.dialer(net.KeepAliveConfig{}),
		CredentialsProviderContext: o.credentials,
		PoolSize:                   o.PoolSize,
		PipelinePoolSize:           -1, // pipelines share the connections of the pool
		MaxRetries:                 1,  // a pooled connection may have been lost unnoticed
		DialerRetries:              1,
		DialTimeout:                o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true, // no CLIENT SETINFO, which a member's user may not call
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// dialer returns a function that connects to the server.
func (o Options) dialer(alive net.KeepAliveConfig) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := &net.Dialer{Timeout: o.Timeout, KeepAliveConfig: alive}
		secure, err := o.TLS.Config()
		switch {
		case err != nil:
			return nil, err
		case secure == nil:
			return dialer.DialContext(ctx, network, address)
		}
		return (&tls.Dialer{NetDialer: dialer, Config: secure}).DialContext(ctx, network, address)
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
