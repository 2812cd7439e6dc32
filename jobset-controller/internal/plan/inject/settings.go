package inject

// Settings are the manager's: where the store is, and which images to add.
type Settings struct {
	// StoreAddress is host:port of the store, as pods reach it. Without one nothing is added.
	StoreAddress string
	// StoreUsername is the ACL user; empty is the default user.
	StoreUsername string
	// StoreSecret names a Secret in the JobSet's namespace that holds the password under StoreSecretKey; empty means none.
	StoreSecret    string
	StoreSecretKey string
	// ExecImage has the supervisor, AgentImage the sidecar.
	ExecImage  string
	AgentImage string
}

// Flags of the manager that set them.
const (
	FlagStoreAddress   = "inplace-store-address"
	FlagStoreUsername  = "inplace-store-username"
	FlagStoreSecret    = "inplace-store-secret"
	FlagStoreSecretKey = "inplace-store-secret-key"
	FlagExecImage      = "inplace-exec-image"
	FlagAgentImage     = "inplace-agent-image"
)

// Lacks says why the assessed drivers cannot be added though nothing in the JobSet stands against it: the manager was not told
// what to add. It is empty if they can.
func (s Settings) Lacks(a Assessment) string {
	for _, entry := range a.Entries {
		if flag := s.missing(entry.Driver); flag != "" {
			return "no agent is added to the pods, because the manager runs without --" + flag
		}
	}
	return ""
}

// missing names the flag that a driver needs and that is not set.
func (s Settings) missing(driver Driver) string {
	switch {
	case driver == None:
		return ""
	case s.StoreAddress == "":
		return FlagStoreAddress
	case driver == Exec && s.ExecImage == "":
		return FlagExecImage
	case driver == CRI && s.AgentImage == "":
		return FlagAgentImage
	}
	return ""
}
