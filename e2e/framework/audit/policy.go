package audit

// Policy returns an audit policy that logs the completed requests of service accounts, without bodies. It leaves out
// the requests of the control plane. Requests without a service account, such as those of the tests' administrator, are
// not logged.
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
