package audit

// Policy tells an API server what to note: requests of service accounts when they are answered, without bodies; those of the control plane
// excepted. Whoever has no service account, as the administrator that tests are, is not noted.
func Policy() map[string]any {
	return map[string]any{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"omitStages": []string{"RequestReceived"},
		"rules": []map[string]any{
			{"level": "None", "userGroups": []string{"system:serviceaccounts:kube-system"}},
			{"level": "Metadata", "userGroups": []string{"system:serviceaccounts"}},
			{"level": "None"},
		},
	}
}
