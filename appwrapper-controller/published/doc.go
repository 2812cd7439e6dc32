// Package published holds tests against the upstream AppWrapper project (v1.2). They cover the pod sets that its
// library infers, which is also the library that Kueue uses, and the takeover of objects from its controller. It
// is a separate module, so that no program depends on that project.
package published
