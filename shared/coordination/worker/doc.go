// Package worker is the core of the agent. It decides what to do about one worker, based on what the driver observes and what the
// store reports. It does no I/O: the agent and the simulation pass events to it and execute its actions.
package worker
