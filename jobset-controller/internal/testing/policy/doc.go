// Package policy tests the chart's admission policies on a real kube-apiserver.
package policy
