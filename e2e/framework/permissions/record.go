package permissions

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/framework/audit"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

// folder holds the suites' records until they are compared.
func folder(root string) string { return filepath.Join(root, "e2e", "results", "rbac") }

// Keep saves a suite's record: the permissions that our programs have used since the testbed was started. Without a
// testbed it does nothing.
func Keep(suite string) error {
	cluster, err := testbed.Attach()
	if err != nil {
		return nil
	}
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	grants, err := Granted(root)
	if err != nil {
		return err
	}
	record, err := collect(cluster, grants)
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(record, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder(root), 0o755); err != nil {
		return fmt.Errorf("saving the permissions of %s: %w", suite, err)
	}
	return os.WriteFile(filepath.Join(folder(root), suite+".json"), raw, 0o644)
}

func collect(cluster *testbed.Cluster, grants []audit.Grant) (audit.Record, error) {
	files, err := cluster.AuditLogs()
	if err != nil {
		return audit.Record{}, err
	}
	var logs []io.Reader
	for _, file := range files {
		log, err := os.Open(file)
		if err != nil {
			return audit.Record{}, fmt.Errorf("opening an audit log: %w", err)
		}
		defer log.Close()
		logs = append(logs, log)
	}
	return audit.Collect(grants, logs...)
}

// Records returns the records of the completed suites, by suite name.
func Records(root string) (map[string]audit.Record, error) {
	files, err := filepath.Glob(filepath.Join(folder(root), "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]audit.Record{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var record audit.Record
		if err := json.Unmarshal(raw, &record); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = record
	}
	return all, nil
}
