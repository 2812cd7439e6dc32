// Package inplace reads from a JobSet what in-place restarts need to know of it: which of its pods carry an agent, and
// which slots they make. It is pure.
package inplace
