// Package rescheduler is the root of the module of pod rescheduling: pods that fail on a node come back elsewhere, and the
// node is remembered.
//
//	api/memory       the annotations that controller, webhook and scheduler share
//	cmd/manager      the controller and the webhook
//	scheduler        kube-scheduler with the PodRescheduling plugin, a module of its own
package rescheduler
