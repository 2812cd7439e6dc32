package config

// Store describes how to connect to the store. Files are given as paths; empty paths are ignored. Without a CA, TLS is
// disabled.
type Store struct {
	Address, Username, PasswordFile string
	CAFile, CertFile, KeyFile       string
	ServerName                      string // expected in the store's certificate; empty: the host in Address
	RelayFrom                       int64  // minimum number of workers of a replicatedJob for which relays are used; 0: never
}

const (
	valkeyCA     = "valkey-tls-ca-file"
	valkeyCert   = "valkey-tls-cert-file"
	valkeyKey    = "valkey-tls-key-file"
	valkeyServer = "valkey-tls-server-name"
)

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
			fix:   "specify the user's name",
		},
		{
			flag: "valkey-password-file", env: "VALKEY_PASSWORD_FILE", optional: true, parse: file(&s.PasswordFile),
			usage: "file with the password of the store user",
			fix:   "mount the Secret and specify the path of its key",
		},
		{
			flag: valkeyCA, env: "VALKEY_TLS_CA_FILE", optional: true, parse: file(&s.CAFile),
			usage: "file with the CA certificates of the store; enables TLS",
			fix:   "mount the Secret or ConfigMap and specify the path of its key",
		},
		{
			flag: valkeyCert, env: "VALKEY_TLS_CERT_FILE", optional: true, parse: file(&s.CertFile),
			usage: "file with the client certificate",
			fix:   "mount the Secret and specify the path of tls.crt",
		},
		{
			flag: valkeyKey, env: "VALKEY_TLS_KEY_FILE", optional: true, parse: file(&s.KeyFile),
			usage: "file with the key of the client certificate",
			fix:   "mount the Secret and specify the path of tls.key",
		},
		{
			flag: valkeyServer, env: "VALKEY_TLS_SERVER_NAME", optional: true, parse: text(&s.ServerName),
			usage: "server name in the store's certificate; defaults to the host of the address",
			fix:   "specify a name that is in the certificate",
		},
		{
			flag: "relay-from", env: "RELAY_FROM", initial: "0", parse: number(&s.RelayFrom, 0),
			usage: "minimum number of workers of a replicatedJob for every hundredth agent to relay the store's messages to the others; must be the same for all agents; 0 disables relays",
			fix:   "specify a number such as 2000, or 0",
		},
	}
}

// check records missing settings that other settings require.
func (s *Store) check(r *reader) {
	switch {
	case (s.CertFile == "") != (s.KeyFile == ""):
		r.add("--%s and --%s go together: specify both or neither", valkeyCert, valkeyKey)
	case s.CertFile != "" && s.CAFile == "":
		r.bad(valkeyCA, "is required with --"+valkeyCert)
	case s.ServerName != "" && s.CAFile == "":
		r.bad(valkeyCA, "is required with --"+valkeyServer)
	}
}
