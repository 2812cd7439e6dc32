// Package policy holds the test of the chart's admission policies on a real kube-apiserver.
package policy
