// Package worker is the core of the agent. It decides what to do about one worker, from what the driver observes and what the store
// reports. It does no I/O: the agent and the simulation pass it events and execute its actions.
package worker
