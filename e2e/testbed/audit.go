package testbed

import (
	"fmt"
	"path/filepath"
)

// auditLog returns the path of the audit log. Rotated files are in the same directory.
func (l Layout) auditLog() string { return l.state(apiServer, "audit.log") }

// AuditLogs returns the files in which the API server has logged the requests of service accounts since the testbed was
// started, except for the control plane's requests. Each line is one event without bodies.
func (c *Cluster) AuditLogs() ([]string, error) {
	files, err := filepath.Glob(c.layout.state(apiServer, "audit*.log"))
	if err != nil {
		return nil, fmt.Errorf("looking for audit logs: %w", err)
	}
	return files, nil
}
