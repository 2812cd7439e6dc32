// Package prometheus configures a Prometheus that runs beside the testbed and asks it questions.
package prometheus

import (
	"encoding/json"
	"fmt"
	"time"
)

// Target is a group of programs that are scraped alike.
type Target struct {
	// Job becomes the label job.
	Job string
	// Addresses are HOST:PORT.
	Addresses []string
	// Path is /metrics if empty.
	Path string
	// HTTPS has the scraper show the administrator's certificate, and take whatever certificate it is shown.
	HTTPS bool
	// Period is how often it is scraped, and how long that may take; a second if zero.
	Period time.Duration
	// Labels are added to each series.
	Labels map[string]string
}

// Files are those that a configuration refers to.
type Files struct {
	Targets, ClientCertificate, ClientKey string
}

// Config renders the main configuration. It is the same for all targets: these are in a file that Prometheus watches, so
// that a change costs no restart and no data.
func Config(files Files) (string, error) {
	// JSON is YAML too.
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

// TargetsFile renders the file of targets.
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
