package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// probeTimeout is the timeout of one request. The host may be slow.
const probeTimeout = 10 * time.Second

// answersOK returns a check that a URL responds with 200.
func answersOK(client func() (*http.Client, error), url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		c, err := client()
		if err != nil {
			return err
		}
		response, err := c.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, response.Status)
		}
		return nil
	}
}

func plainClient() (*http.Client, error) {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, nil
}

// adminClient returns a client of the administrator that trusts the testbed's authority.
func (l Layout) adminClient() (*http.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return rest.HTTPClientFor(config)
}

// resolves checks that the cluster DNS resolves a name that always exists.
func resolves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(hostAddress, "53"))
	}}
	addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+clusterDomain+".")
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("the cluster DNS has no address for the API server")
	}
	return nil
}

// answersPing sends a PING in the Redis protocol.
func answersPing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", redisAddress)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(probeTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if got := string(answer[:n]); !strings.HasPrefix(got, "+PONG") {
		return fmt.Errorf("redis replied %q", got)
	}
	return nil
}
