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
		newSetting("valkey-address", "VALKEY_ADDRESS", matching(&s.Address, isAddress, "host:port"),
			"host:port of the store's service, such as valkey.default.svc.cluster.local:6379"),
		newSetting("valkey-username", "VALKEY_USERNAME", text(&s.Username), "ACL user of the store").orNone(),
		newSetting("valkey-password-file", "VALKEY_PASSWORD_FILE", file(&s.PasswordFile), "file with the password of the store user, from a mounted Secret").orNone(),
		newSetting("valkey-tls-ca-file", "VALKEY_TLS_CA_FILE", file(&s.TLS.CA), "file with the CA certificates of the store; enables TLS").orNone(),
		newSetting("valkey-tls-cert-file", "VALKEY_TLS_CERT_FILE", file(&s.TLS.Cert), "file with the client certificate").orNone(),
		newSetting("valkey-tls-key-file", "VALKEY_TLS_KEY_FILE", file(&s.TLS.Key), "file with the key of the client certificate").orNone(),
		newSetting("valkey-tls-server-name", "VALKEY_TLS_SERVER_NAME", text(&s.TLS.ServerName),
			"server name in the store's certificate; defaults to the host of the address").orNone(),
		newSetting("relay-from", "RELAY_FROM", number(&s.RelayFrom, 0),
			"minimum number of workers of a replicatedJob for every hundredth agent to relay the store's messages to the others; must be the same for all agents; 0 disables relays").
			or("0"),
	}
}

// check records a problem if a file is missing that other settings require.
func (s *Store) check(r *reader) {
	if err := s.TLS.Check(); err != nil {
		r.add("--valkey-tls-*: %v", err)
	}
}
