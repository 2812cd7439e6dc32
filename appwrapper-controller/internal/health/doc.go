// Package health reads what the status of a wrapped object says about its work. There is one file for each kind; a kind that is not
// known is judged by its pods. It is pure.
package health
