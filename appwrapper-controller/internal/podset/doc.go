// Package podset finds the pods that a wrapped object will make: where their templates are in it, and how many pods each makes.
// Kueue computes the same from the same object, before and independently of us: sets, counts and order are a contract. It is pure.
package podset
