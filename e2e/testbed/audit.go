package testbed

import (
	"fmt"
	"path/filepath"
)

// auditLog is the audit log's file; what it had when it grew too long lies beside it.
func (l Layout) auditLog() string { return l.state(apiServer, "audit.log") }

// AuditLogs are the files in which the API server has noted what service accounts asked of it since the testbed came up, those of the
// control plane excepted: one event a line, who, what and the answer's code, without bodies.
func (c *Cluster) AuditLogs() ([]string, error) {
	files, err := filepath.Glob(c.layout.state(apiServer, "audit*.log"))
	if err != nil {
		return nil, fmt.Errorf("looking for audit logs: %w", err)
	}
	return files, nil
}
