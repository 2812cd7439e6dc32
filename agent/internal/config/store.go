package config

import "github.com/holdfast-project/holdfast/shared/coordination/valkey"

// Store describes how to connect to the store. Empty paths are ignored.
type Store struct {
	Address, Username, PasswordFile string
	TLS                             valkey.TLSFiles
	RelayFrom                       int64 // minimum number of workers of a replicatedJob for which relays are used; 0: never
}

func (s *Store) settings() []*setting {
	return []*setting{
		{
			flag: "valkey-address", env: "VALKEY_ADDRESS", parse: address(&s.Address),
			usage: "host:port of the store",
			fix:   "specify the store's service, such as valkey.default.svc.cluster.local:6379",
		},
		{
			flag: "valkey-username", env: "VALKEY_USERNAME", optional: true, parse: text(&s.Username),
			usage: "ACL user of the store",
		},
		{
			flag: "valkey-password-file", env: "VALKEY_PASSWORD_FILE", optional: true, parse: file(&s.PasswordFile),
			usage: "file with the password of the store user",
			fix:   "mount the Secret and specify the path of its key",
		},
		{
			flag: "valkey-tls-ca-file", env: "VALKEY_TLS_CA_FILE", optional: true, parse: file(&s.TLS.CA),
			usage: "file with the CA certificates of the store; enables TLS",
			fix:   "mount the Secret or ConfigMap and specify the path of its key",
		},
		{
			flag: "valkey-tls-cert-file", env: "VALKEY_TLS_CERT_FILE", optional: true, parse: file(&s.TLS.Cert),
			usage: "file with the client certificate",
			fix:   "mount the Secret and specify the path of tls.crt",
		},
		{
			flag: "valkey-tls-key-file", env: "VALKEY_TLS_KEY_FILE", optional: true, parse: file(&s.TLS.Key),
			usage: "file with the key of the client certificate",
			fix:   "mount the Secret and specify the path of tls.key",
		},
		{
			flag: "valkey-tls-server-name", env: "VALKEY_TLS_SERVER_NAME", optional: true, parse: text(&s.TLS.ServerName),
			usage: "server name in the store's certificate; defaults to the host of the address",
		},
		{
			flag: "relay-from", env: "RELAY_FROM", initial: "0", parse: number(&s.RelayFrom, 0),
			usage: "minimum number of workers of a replicatedJob for every hundredth agent to relay the store's messages to the others; must be the same for all agents; 0 disables relays",
		},
	}
}

// check records a problem if a file is missing that other settings require.
func (s *Store) check(r *reader) {
	if err := s.TLS.Check(); err != nil {
		r.add("--valkey-tls-*: %v", err)
	}
}
