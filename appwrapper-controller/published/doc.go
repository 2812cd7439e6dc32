// Package published holds the tests against the published AppWrapper project (v1.2): the pod sets that its library, which Kueue links,
// infers, and everything as its controller leaves it, taken over by ours. It is a module of its own so that no program depends on that
// project.
package published
