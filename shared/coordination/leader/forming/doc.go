// Package forming decides what to do about workers that have not joined their group yet, when it starts or after a full
// recreation. It is pure: its input is the Jobs and pods of one step and the time.
//
//	the step may start                               forming-timeout             twice forming-timeout
//	|                                                |                           |
//	|  exits of containers are charged               |  the missing pods are     |  all Jobs are recreated
//	|  an event names the missing workers, and why   |  recreated, if few        |  (charged), or the owner fails
//
// The clock of a step starts at the latest of these times: the group opened, its Jobs started, its pods were scheduled. It is
// paused while one of the step's Jobs is missing or suspended, or one of its pods is unscheduled. All of these times are in the
// API, so a new leader continues the same clock. Replacing a pod restarts the clock.
package forming
