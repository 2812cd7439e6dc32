// Package results holds the results of the scale benchmark and everything that is derived from them without a cluster:
// medians and their spread, estimates for more agents than a machine can run, and the page with its plots.
package results
