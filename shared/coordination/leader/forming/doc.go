// Package forming decides about workers that have not joined their group for the first time, at its start or after a full
// recreation. It is pure: its input is the Jobs and pods of one step and the time.
//
//	the step may start                                  forming-timeout             twice forming-timeout
//	|                                                   |                           |
//	|  a container exits: charged, at most once for all |                           |
//	|  an event names the missing workers, and why      |  the missing pods,        |  all Jobs, charged;
//	|                                                   |  if they are few          |  without budget: failure
//
// The clock of a step starts at the latest of these times: the group opened, its Jobs started, its pods were scheduled. It is
// paused while one of the step's Jobs is missing or suspended, or one of its pods is unscheduled. All of that is in the API, so a
// new leader continues the same clock. Replacing a pod restarts the clock.
package forming
