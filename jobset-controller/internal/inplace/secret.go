package inplace

// StoreSecret is the name of the Secret with the credentials of a JobSet's agents for the store, in its namespace. It goes by
// the JobSet's name, so that a manifest with an agent by hand can name it.
func StoreSecret(jobSet string) string { return "holdfast-store-" + jobSet }
