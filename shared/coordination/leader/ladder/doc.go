// Package ladder decides what is tried for a slot that does not join a round, before the whole group is recreated. It is pure: its
// input is the slot's Job and newest pod, and the clock of the round.
//
//	the round opens      1/3 of inplace-timeout         2/3                               inplace-timeout
//	|                    |                              |                                 |
//	|  the slot's pod has Succeeded: its Job, at once   |                                 |
//	|                    |  a pod whose worker will not run in time: that pod             |
//	|                    |                              |  the slot's Job, if it is small |  the group
//
// The package has no memory. A pod or a Job that is being deleted, or is younger than the clock of the round, shows that the slot
// was repaired already. A new leader restarts the clock.
package ladder
