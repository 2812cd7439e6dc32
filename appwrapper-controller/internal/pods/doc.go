// Package pods counts the pods of a workload. It is pure.
package pods
