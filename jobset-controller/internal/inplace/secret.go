package inplace

// Keys of a JobSet's Secret for the store, which are also the names of its files.
const (
	SecretUsername = "username"
	SecretPassword = "password"
	SecretCA       = "ca.crt" // what the store's certificate is checked against, if the store speaks TLS
)

// StoreSecret is the name of the Secret with the credentials of a JobSet's agents for the store, in its namespace. It goes by
// the JobSet's name, so that a manifest with an agent by hand can name it.
func StoreSecret(jobSet string) string { return "holdfast-store-" + jobSet }
