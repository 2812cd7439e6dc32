// Package functions is the group protocol as the store runs it: the source of its function library (lua/), the calls that
// agents and the leader make, and what the functions return. It opens no connection: package valkey carries calls to a
// server, package memory runs the same source in the process.
package functions
