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
// # A driver that waits at a barrier
//
// With Config.Barrier the driver itself makes the instances; it makes none that was not asked for.
//
//	core                      driver
//	Begin                ->   makes an instance: a new ID, born later than all before it, no process yet; answers with an
//	                          Observed that has it as running. The first Observed is of no instance.
//	Lift{Instance, ...}  ->   starts its user code, with this epoch and round in its environment, if it is still the newest
//	Stop{Instance, ...}  ->   ends it: one that waits ends at once, one that runs with all its processes; then StopEnded, and an
//	                          Observed that has it as exited (143 if it never ran)
//	Release{}            ->   exits 0. Nothing else makes the driver exit, but its own SIGTERM
//	SIGTERM              ->   Leaving first, then the end of the worker and its Observed; it exits 143 once Settled, or when
//	                          its time is up
//
// An Observed is due after each change, never at intervals; it has every instance that lives, and may leave out those whose
// end it has shown. An instance lives from Begin to the end of its last process: the next Begin comes after that, so two never
// run side by side. It is known by its ID; an action may give it a later birth than the driver did. One that is missing
// without having been shown as exited is taken for dead: after a restart of the driver it is not there any more.
//
// A worker that exits 0 by itself is held: there is no instance, the driver waits. Either Release lets it go, or a Begin
// makes it run again in a later round. A worker that dies gets its Begin at once; if the store is away, or no restart is
// left, that instance waits at the barrier. Save comes before the Lift or Stop it belongs to, and has to be on disk first.
// WriteRound and Remove are never asked for.
package member
