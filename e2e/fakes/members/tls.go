package members

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/holdfast-project/holdfast/e2e/testbed/pki"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	authority = "ca"
	serving   = "server"
	password  = "of-all-members"
)

func (s *Server) certificates() pki.Store { return pki.Store{Dir: s.dir} }

// credentials creates a certificate and a password, and sets what clients need.
func (s *Server) credentials() error {
	store := s.certificates()
	ca, err := store.Authority(authority)
	if err != nil {
		return err
	}
	if _, err := store.Issue(serving, ca, pki.Request{Name: serving, Hosts: loopback()}); err != nil {
		return err
	}
	s.Options.PasswordFile = filepath.Join(s.dir, "password")
	if err := os.WriteFile(s.Options.PasswordFile, []byte(password), 0o600); err != nil {
		return err
	}
	s.Options.TLS = valkey.TLSFiles{CA: store.Certificate(authority)}
	return nil
}

// CA is the path of the certificate with which clients verify the server's certificate.
func (s *Server) CA() string { return s.certificates().Certificate(authority) }

// OrchestratorArguments are the arguments of an orchestrator that uses the server and issues passwords for its users.
func (s *Server) OrchestratorArguments() []string {
	return []string{
		"--valkey-address=" + s.Address, "--valkey-acl", "--valkey-username=default", "--valkey-password-file=" + s.Options.PasswordFile,
		"--valkey-tls-ca-file=" + s.CA(),
	}
}

// AllowMembers creates the store user of the group, as the orchestrator does. The server forgets the user when it
// restarts.
func AllowMembers(ctx context.Context, leader *valkey.Store) (username string, err error) {
	sum := sha256.Sum256([]byte(password))
	return coordination.UserOf(id), leader.SetUsers(ctx, map[string][]string{id: {hex.EncodeToString(sum[:])}})
}
