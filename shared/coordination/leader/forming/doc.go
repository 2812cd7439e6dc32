// Package forming decides about workers that have not joined their group for the first time, at its start or after a full
// recreation. It is pure: it looks at the Jobs and pods of one step and at the time.
//
//	the step may start                                  forming-timeout             twice forming-timeout
//	|                                                   |                           |
//	|  a container exits: charged, at most once for all |                           |
//	|  the worker names who is missing, and why         |  the missing pods,        |  all Jobs, charged;
//	|                                                   |  if they are few          |  without budget: failure
//
// The clock of a step starts with the newest of: the opening of the group, the start of its Jobs, the scheduling of its pods. It
// does not run while one of its Jobs is missing or suspended, or one of its pods is not scheduled. All of that is in the API, so
// a new leader continues the same clock, and a pod that was replaced moves it.
package forming
