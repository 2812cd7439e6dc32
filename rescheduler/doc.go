// Package rescheduler is the root of the module for pod rescheduling: pods that fail on a node are replaced on another one, and the node is
// excluded for a while.
//
//	api/memory       the annotations that controller, webhook and scheduler share
//	cmd/manager      the controller and the webhook
//	scheduler        kube-scheduler with the PodRescheduling plugin, a module of its own
package rescheduler
