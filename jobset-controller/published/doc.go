// Package published tests compatibility with the upstream JobSet project (v0.12): its typed Go API with our definition
// and controller, and the replacement of its controller by ours in any state. It is a separate module, so that no
// program depends on the upstream project.
package published
