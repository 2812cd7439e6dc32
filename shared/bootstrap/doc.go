// Package bootstrap is what every manager starts with: flags and a configuration file, a connection to the cluster, webhook
// certificates, health checks that wait for them, metrics for those who may read them, leader election, and a clean end.
//
//	main -> Main: flags -> file -> all that is wrong, at once (exit 2) -> Program.Run
//	Run  -> New:  manager with metrics, health checks and the Lease
//	     -> Start: certificates -> webhooks -> ready;   Lease -> controllers;   SIGTERM -> stop, release, exit 0
//
// Controllers do not wait for certificates: a recovery is not held up by them. Only webhooks and readiness do.
package bootstrap
