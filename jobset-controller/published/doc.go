// Package published tests compatibility with the upstream JobSet project (v0.12): using its typed Go API with our
// definition and controller, and replacing its controller with ours in any state. It is a separate module, so that no
// program depends on the upstream project.
package published
