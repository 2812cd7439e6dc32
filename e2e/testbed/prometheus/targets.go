// Package prometheus configures a Prometheus that runs alongside the testbed, and queries it.
package prometheus

import (
	"encoding/json"
	"fmt"
	"time"
)

// Target is a group of programs that are scraped with the same settings.
type Target struct {
	// Job is the value of the label job.
	Job string
	// Addresses lists addresses in the form HOST:PORT.
	Addresses []string
	// Path defaults to /metrics.
	Path string
	// HTTPS makes Prometheus present the administrator's certificate and accept any server certificate.
	HTTPS bool
	// Period is the scrape interval and timeout. The default is one second.
	Period time.Duration
	// Labels are added to each series.
	Labels map[string]string
}

// Files lists the files that a configuration refers to.
type Files struct {
	Targets, ClientCertificate, ClientKey string
}

// Config returns the main configuration. It does not depend on the targets, which are in a file watched by
// Prometheus, so that they can be changed without a restart or loss of data.
func Config(files Files) (string, error) {
	// JSON is valid YAML.
	return render(map[string]any{
		"global": map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s"},
		"scrape_configs": []any{map[string]any{
			"job_name":        "testbed",
			"file_sd_configs": []any{map[string]any{"files": []string{files.Targets}, "refresh_interval": "1s"}},
			"tls_config": map[string]any{
				"cert_file": files.ClientCertificate, "key_file": files.ClientKey, "insecure_skip_verify": true,
			},
		}},
	})
}

// TargetsFile returns the content of the targets file.
func TargetsFile(targets []Target) (string, error) {
	groups := []any{} // an empty list is valid, null is not
	for _, t := range targets {
		labels := map[string]string{"job": t.Job}
		if t.Path != "" {
			labels["__metrics_path__"] = t.Path
		}
		if t.HTTPS {
			labels["__scheme__"] = "https"
		}
		if t.Period > 0 {
			labels["__scrape_interval__"], labels["__scrape_timeout__"] = t.Period.String(), t.Period.String()
		}
		for name, value := range t.Labels {
			labels[name] = value
		}
		groups = append(groups, map[string]any{"targets": t.Addresses, "labels": labels})
	}
	return render(groups)
}

func render(value any) (string, error) {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return "", fmt.Errorf("rendering Prometheus' configuration: %w", err)
	}
	return string(raw), nil
}
