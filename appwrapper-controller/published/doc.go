// Package published holds the tests against the published AppWrapper project (v1.2): the pod sets that its library
// infers, which Kueue links, and the takeover of objects from its controller. It is a separate module, so that no
// program depends on that project.
package published
