// Package audit compares the rights that programs have with those that they use. It reads RBAC rules and the API
// server's audit log, and reports which rights no program used and which requests were refused. It does no I/O.
package audit
