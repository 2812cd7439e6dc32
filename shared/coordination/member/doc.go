// Package member decides what an agent does: when to report, when to ask, and when to stop its worker. It is pure: no I/O,
// no clock, no logger. What happened comes in as an Event with the time, what to do goes out as Actions, and what is
// pending is derived from the state, so that a lost answer loses nothing and a repeated one doubles nothing.
//
//	driver  -- Observed -->  +-------+  -- Join, Down, Ask -->  store (one call in flight, in the order of births)
//	store   -- Told ------>  | State |  -- Stop, Remove ----->  driver
//	call    -- Answered -->  | .Step |  -- Save, WriteRound ->  start-up volume
//	stop    -- StopEnded ->  +-------+  -- Log, Look
//	timer   -- Tick
//
// # What it holds to
//
// An order names one instance, and only one that is behind the desired round of the same life of the group. A newer
// instance is never stopped, and none is stopped twice. What the agent does not know is never a reason to stop anybody:
// a store that is away, empty or unreadable leaves the worker running.
//
// A driver that waits at a barrier, or that has no containers to remove, fits the same events and actions.
package member
