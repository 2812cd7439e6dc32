// Package results holds the results of the scale benchmark and all that is made of them without a cluster: medians and their
// spread, what the figures mean for more agents than a machine can hold, and the page with its plots.
package results
