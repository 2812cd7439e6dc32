package kueue

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// Frameworks returns the frameworks that Kueue manages by default.
func Frameworks() []string { return []string{"batch/job", "jobset.x-k8s.io/jobset"} }

// Settings configures the manager.
type Settings struct {
	// Frameworks are built into Kueue (GROUP/KIND) or belong to other programs (KIND.VERSION.GROUP).
	Frameworks []string
	// WebhookHost and WebhookPort are the address at which the manager serves its webhooks, with tls.crt and tls.key
	// from CertDir.
	WebhookHost string
	WebhookPort int
	CertDir     string
	// Health and Metrics are HOST:PORT.
	Health, Metrics string
	QPS, Burst      int
}

// Config returns the manager's configuration. It sets waitForPodsReady explicitly, because the manager used here is a
// minor version older than the library in Holdfast's programs, and has a different default.
func Config(s Settings) (string, error) {
	own, external := split(s.Frameworks)
	// JSON is valid YAML.
	raw, err := json.MarshalIndent(map[string]any{
		"apiVersion":             "config.kueue.x-k8s.io/v1beta2",
		"kind":                   "Configuration",
		"health":                 map[string]any{"healthProbeBindAddress": s.Health},
		"metrics":                map[string]any{"bindAddress": s.Metrics, "enableClusterQueueResources": true},
		"webhook":                map[string]any{"host": s.WebhookHost, "port": s.WebhookPort, "certDir": s.CertDir},
		"leaderElection":         map[string]any{"leaderElect": false},
		"clientConnection":       map[string]any{"qps": s.QPS, "burst": s.Burst},
		"internalCertManagement": map[string]any{"enable": false},
		"waitForPodsReady":       map[string]any{"timeout": "5m", "blockAdmission": false},
		"integrations":           map[string]any{"frameworks": own, "externalFrameworks": external},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("rendering Kueue's configuration: %w", err)
	}
	return string(raw), nil
}

// split separates Kueue's own frameworks from external ones.
func split(frameworks []string) (own, external []string) {
	own, external = []string{}, []string{}
	for _, name := range frameworks {
		if strings.Contains(name, "/") {
			own = append(own, name)
		} else {
			external = append(external, name)
		}
	}
	return own, external
}

func encode(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
