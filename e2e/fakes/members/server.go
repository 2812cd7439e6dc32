package members

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Server is a store on a loopback port. It ends with this process.
type Server struct {
	Address string
	Options valkey.Options // of its clients

	program string
	process *exec.Cmd
	args    []string
	dir     string
	admin   *redis.Client
}

// startTimeout is how long a server may take to respond. After a Restart, thousands of members connect before its administrator does.
const startTimeout = time.Minute

// redisServer is the program that servers run by default.
const redisServer = "redis-server"

// StartServer starts a server without persistence that accepts the given number of connections.
func StartServer(ctx context.Context, connections int) (*Server, error) {
	return start(ctx, redisServer, connections, false, "--appendonly", "no", "--tcp-backlog", "4096")
}

// StartSecureServer starts a server that requires TLS and a password.
func StartSecureServer(ctx context.Context, connections int) (*Server, error) {
	return start(ctx, redisServer, connections, true, "--appendonly", "no", "--tcp-backlog", "4096")
}

// StartDurableServer starts a secure server that writes an append-only file, with the same defaults as the chart's store. program is
// valkey-server or redis-server.
func StartDurableServer(ctx context.Context, program string, connections int) (*Server, error) {
	return start(ctx, program, connections, true, "--appendonly", "yes", "--appendfsync", "everysec")
}

func start(ctx context.Context, program string, connections int, secure bool, others ...string) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdfast-store")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	s := &Server{Address: address, program: program, dir: dir, Options: valkey.Options{Address: address}}
	listen, admin := []string{"--port", port}, &redis.Options{Addr: address, Protocol: 2}
	if secure {
		if err := s.credentials(); err != nil {
			return nil, err
		}
		store := s.certificates()
		listen = []string{
			"--port", "0", "--tls-port", port, "--tls-cert-file", store.Certificate(serving), "--tls-key-file", store.Key(serving),
			"--tls-ca-cert-file", store.Certificate(authority), "--tls-auth-clients", "no", "--requirepass", password,
		}
		if admin.TLSConfig, err = s.Options.TLS.Config(); err != nil {
			return nil, err
		}
		admin.Password = password
	}
	s.admin = redis.NewClient(admin)
	s.args = append(append(listen, others...), "--bind", strings.Join(loopback(), " "), "--dir", dir, "--save", "", "--maxclients", strconv.Itoa(connections+spareConnections))
	return s, s.run(ctx)
}

// loopbackAddresses is how many addresses a server has. Valkey permits no more.
const loopbackAddresses = 16

func loopback() []string {
	var all []string
	for i := range loopbackAddresses {
		all = append(all, fmt.Sprintf("127.0.0.%d", i+1))
	}
	return all
}

// AddressOf returns one of the server's addresses for the n-th process that connects to it. This machine can have 28,232 connections to one
// address, including those that were closed less than a minute ago.
func (s *Server) AddressOf(n int) string {
	_, port, _ := net.SplitHostPort(s.Address)
	return net.JoinHostPort(loopback()[n%loopbackAddresses], port)
}

// run starts the process.
func (s *Server) run(ctx context.Context) error {
	s.process = exec.Command(s.program, s.args...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("starting %s (hack/install-debian.sh installs it): %w", s.program, err)
	}
	return s.awaitAnswer(ctx)
}

// Restart stops the process and starts it again. Once the server responds, it returns the time of the start.
func (s *Server) Restart(ctx context.Context) (started time.Time, err error) {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
	started = time.Now()
	return started, s.run(ctx)
}

// spareConnections is the number of connections for the leader and the administrator.
const spareConnections = 32

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *Server) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for s.admin.Ping(ctx).Err() != nil {
		select {
		case <-ctx.Done():
			s.Stop()
			return fmt.Errorf("%s at %s has not responded for %v", s.program, s.Address, startTimeout)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	_ = s.admin.Close()
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	_ = os.RemoveAll(s.dir)
}

// PID returns the process ID of the server. It changes with a Restart.
func (s *Server) PID() int { return s.process.Process.Pid }

// Usage is what the server has used so far.
type Usage struct {
	Bytes       int64 // memory in use, without that of the TLS library
	Peak        int64 // peak memory, likewise
	Connections int64
	Accepted    int64   // connections since the server was started
	CPU         float64 // seconds
	Calls       int64   // executed commands, including those inside functions
}

// Info returns all fields of the INFO command.
func (s *Server) Info(ctx context.Context) (string, error) {
	text, err := s.admin.Info(ctx, "everything").Result()
	if err != nil {
		return "", fmt.Errorf("reading the usage of %s: %w", s.program, err)
	}
	return text, nil
}

// Usage reads the server's usage.
func (s *Server) Usage(ctx context.Context) (Usage, error) {
	text, err := s.Info(ctx)
	if err != nil {
		return Usage{}, err
	}
	number := func(field string) float64 {
		_, rest, _ := strings.Cut(text, "\r\n"+field+":")
		value, _, _ := strings.Cut(rest, "\r\n")
		f, _ := strconv.ParseFloat(value, 64)
		return f
	}
	return Usage{
		Bytes: int64(number("used_memory")), Peak: int64(number("used_memory_peak")),
		Connections: int64(number("connected_clients")),
		Accepted:    int64(number("total_connections_received")),
		CPU:         number("used_cpu_user") + number("used_cpu_sys"),
		Calls:       int64(number("total_commands_processed")),
	}, nil
}
