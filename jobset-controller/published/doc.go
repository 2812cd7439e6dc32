// Package published tests the compatibility with the published JobSet project (v0.12): its typed Go API with our definition and our
// controller, and the replacement of its controller by ours in any state. It is a separate module, so that no program depends on
// that project.
package published
