package policy

// Features are the feature gates of the published controller that change what becomes of a JobSet. All are off by default, as
// published.
type Features struct {
	// RestartJob: rules of the failure policy may restart single Jobs.
	RestartJob bool
	// InPlaceRestart: restartStrategy InPlaceRestart, whose agents follow the attempts in the status.
	InPlaceRestart bool
	// ElasticJobSet: parallelism and completions of Indexed Jobs may change while they run.
	ElasticJobSet bool
}
