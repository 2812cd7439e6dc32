// Package worker is the core of the agent: it decides what to do about one worker, from what the driver observes and what the
// store says. It does no I/O: the agent and the simulation feed it events and carry out its actions.
package worker
