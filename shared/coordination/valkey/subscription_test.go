package valkey

import (
	"crypto/tls"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's probes detect an unreachable store long before two pings have been missed.
func TestSubscriptionUsesKeepAlive(t *testing.T) {
	l := listen(t)
	conn, err := Options{Address: l}.subscription().Dialer(t.Context(), "tcp", l)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	checkProbes(t, conn.(*net.TCPConn))
}

func TestSubscriptionUsesKeepAliveBelowTLS(t *testing.T) {
	cert, key := pair(t, "store")
	server := newTLSServer(t, cert, key)
	conn, err := Options{TLS: TLSFiles{CA: cert}}.subscription().Dialer(t.Context(), "tcp", server.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	checkProbes(t, conn.(*tls.Conn).NetConn().(*net.TCPConn))
}

func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func checkProbes(t *testing.T, conn *net.TCPConn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for which, want := range map[int]int{unix.TCP_KEEPIDLE: 3, unix.TCP_KEEPINTVL: 1, unix.TCP_KEEPCNT: 3, unix.TCP_USER_TIMEOUT: 6000} {
		var got int
		var failed error
		err := raw.Control(func(fd uintptr) { got, failed = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, which) })
		if err != nil || failed != nil || got != want {
			t.Errorf("option %d is %d, want %d; %v, %v", which, got, want, err, failed)
		}
	}
}
