// Package audit compares the permissions that programs have with those that they use. It reads RBAC rules and
// the API server's audit log, and reports which permissions no program used and which requests were rejected. It
// performs no I/O.
package audit
