package valkey

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// program returns the server program that the tests run: valkey-server, or the value of HOLDFAST_STORE, such as redis-server.
func program() string { return cmp.Or(os.Getenv("HOLDFAST_STORE"), "valkey-server") }

// server is a store that the test runs on a loopback port.
type server struct {
	t       testing.TB
	address string
	dir     string
	args    []string
	process *exec.Cmd
	admin   *redis.Client
}

// newServer starts a server that is stopped at the end of the test. Extra arguments are passed to the program.
func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := prepareServer(t, args...)
	s.start()
	return s
}

func prepareServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{t: t, address: freeAddress(t), dir: t.TempDir(), args: args}
	logging.Disable()
	s.admin = redis.NewClient(&redis.Options{Addr: s.address, Protocol: 2, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = s.admin.Close() })
	t.Cleanup(s.stop)
	return s
}

func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *server) start() {
	s.t.Helper()
	binary, err := exec.LookPath(program())
	if err != nil {
		s.t.Fatalf("%s is missing: run hack/install-debian.sh", program())
	}
	_, port, _ := net.SplitHostPort(s.address)
	args := append([]string{"--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--save", "", "--appendonly", "no"}, s.args...)
	s.process = exec.Command(binary, args...)
	// If the test is killed, its server is killed, too.
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.awaitAnswer()
}

// awaitAnswer waits until the server answers. An error reply, for example because of a missing password, is an answer, too.
func (s *server) awaitAnswer() {
	s.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := s.admin.Ping(context.Background()).Err()
		if err == nil || (isReply(err) && !strings.HasPrefix(err.Error(), "LOADING")) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s at %s is unreachable: %v", program(), s.address, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func isReply(err error) bool {
	_, is := err.(redis.Error)
	return is
}

// stop kills the server as in a crash. The content of an append-only file is restored on the next start.
func (s *server) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.process = nil
}

// patient sets long timeouts, for tests in which no connection may be lost even on a busy machine.
func patient(o *Options) { o.PingInterval, o.Timeout = time.Hour, time.Minute }

// store returns a client with short intervals.
func (s *server) store(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{
		Address: s.address, Resync: time.Hour, PingInterval: 200 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
	}
	for _, c := range change {
		c(&o)
	}
	store, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func (s *server) do(args ...any) any {
	s.t.Helper()
	v, err := s.admin.Do(context.Background(), args...).Result()
	if err != nil && err != redis.Nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return v
}

// dump returns the serialized value of every key.
func (s *server) dump() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, key := range s.admin.Keys(context.Background(), "*").Val() {
		all[key] = fmt.Sprint(s.do("DUMP", key))
	}
	return all
}

func (s *server) load(dump map[string]string) {
	s.t.Helper()
	s.do("FLUSHALL")
	for key, value := range dump {
		s.do("RESTORE", key, 0, value)
	}
}

// clients counts the connections whose line in CLIENT LIST contains a word.
func (s *server) clients(word string) int {
	s.t.Helper()
	n := 0
	for line := range strings.SplitSeq(s.do("CLIENT", "LIST").(string), "\n") {
		if slices.Contains(strings.Fields(line), word) {
			n++
		}
	}
	return n
}
