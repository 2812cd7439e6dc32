package workers

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// Port is a placeholder for the server's port in the arguments to Redis.
const Port = "PORT"

// Redis starts a redis-server that runs until the test ends, and returns its address. It appends args to the server's
// arguments.
func Redis(t testing.TB, args ...string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	all := append([]string{"--bind", "127.0.0.1", "--port", Port, "--dir", t.TempDir(), "--save", "", "--appendonly", "no"}, args...)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], Port, port)
	}
	server := exec.Command("redis-server", all...)
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // exits with the test binary, even if that is killed
	if err := server.Start(); err != nil {
		t.Fatalf("redis-server is missing, run hack/install-debian.sh: %v", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	awaitListener(t, address)
	return address
}

func awaitListener(t testing.TB, address string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("redis-server does not listen: %v", err)
		}
	}
}

// LeaderStore returns a store that can open groups, with its function library loaded.
func LeaderStore(t testing.TB, address string) *valkey.Store {
	t.Helper()
	s, err := valkey.New(valkey.Options{Address: address, PoolSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}
