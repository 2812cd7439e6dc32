// Package webhook adds the nodes to avoid to new pods in namespaces with managed workloads. It reads from caches, except for owners that
// are too new for them. It admits every pod, and leaves out what it cannot determine in time.
package webhook
