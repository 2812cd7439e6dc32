package supervise

import corev1 "k8s.io/api/core/v1"

// Variables by which agents find the store, as the manifest of seed 000 names them, and their folder.
const (
	EnvStoreAddress  = "VALKEY_ADDRESS"
	EnvStoreUsername = "VALKEY_USERNAME"
	EnvStorePassword = "VALKEY_PASSWORD_FILE"
	EnvStoreCA       = "VALKEY_TLS_CA_FILE"
	EnvStoreServer   = "VALKEY_TLS_SERVER_NAME"
	EnvStartupDir    = "STARTUP_DIR"
)

// Keys of a group's Secret for the store, which are also the names of its files.
const (
	SecretUsername = "username"
	SecretPassword = "password"
	SecretCA       = "ca.crt" // what the store's certificate is checked against, if the store speaks TLS
)

// ElasticSecret is the name of the Secret with the credentials of an ElasticJob's agents, in its namespace. Those of JobSets have other
// names.
func ElasticSecret(job string) string { return "holdfast-elastic-store-" + job }

// Store is how the agents of a pod reach the store.
type Store struct {
	// Address is host:port, as pods reach it.
	Address string
	// Username is the ACL user; empty is the default user.
	Username string
	// Secret names a Secret in the pod's namespace that holds the password under SecretKey; empty means none.
	Secret, SecretKey string
	// TLS: the Secret also holds what the store's certificate is checked against, under SecretCA.
	TLS bool
	// ServerName is whom the certificate is for; empty is the host of the address.
	ServerName string
}

// Environment by which an agent finds the store and its folder.
func (s Store) Environment() []corev1.EnvVar {
	env := []corev1.EnvVar{{Name: EnvStoreAddress, Value: s.Address}, {Name: EnvStartupDir, Value: StartupDir}}
	if s.Username != "" {
		env = append(env, corev1.EnvVar{Name: EnvStoreUsername, Value: s.Username})
	}
	if s.Secret != "" {
		env = append(env, corev1.EnvVar{Name: EnvStorePassword, Value: CredentialsDir + "/" + SecretPassword})
	}
	if s.TLS {
		env = append(env, corev1.EnvVar{Name: EnvStoreCA, Value: CredentialsDir + "/" + SecretCA})
	}
	if s.TLS && s.ServerName != "" {
		env = append(env, corev1.EnvVar{Name: EnvStoreServer, Value: s.ServerName})
	}
	return env
}

// Reserved are the variables of Environment, whatever the store.
func Reserved() []corev1.EnvVar {
	var list []corev1.EnvVar
	for _, name := range []string{EnvStoreAddress, EnvStoreUsername, EnvStorePassword, EnvStoreCA, EnvStoreServer, EnvStartupDir} {
		list = append(list, corev1.EnvVar{Name: name})
	}
	return list
}
