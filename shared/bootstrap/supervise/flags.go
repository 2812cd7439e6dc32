package supervise

// Flags of every manager that adds agents to pods: where the store is, as pods reach it, and the supervisor's image.
const (
	FlagStoreAddress   = "inplace-store-address"
	FlagStoreUsername  = "inplace-store-username"
	FlagStoreSecret    = "inplace-store-secret"
	FlagStoreSecretKey = "inplace-store-secret-key"
	FlagStoreACL       = "inplace-store-acl"
	FlagStoreTLS       = "inplace-store-tls"
	FlagStoreServer    = "inplace-store-tls-server-name"
	FlagExecImage      = "inplace-exec-image"
)
