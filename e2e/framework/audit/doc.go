// Package audit compares the rights that programs have with those that they use: it reads rules of RBAC and the API server's audit log, and
// tells which rights nobody used and which requests were refused. It is pure: what it reads is handed to it.
package audit
