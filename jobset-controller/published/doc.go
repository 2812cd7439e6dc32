// Package published holds the tests that clients and the controller of the published JobSet project (v0.12) meet no surprise here:
// its typed Go API against our definition and our controller, and everything as its controller leaves it, taken over by ours. It
// is a module of its own so that no program depends on that project.
package published
