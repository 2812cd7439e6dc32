// Package ladder decides what is tried for a slot that does not join a round, before the whole group is recreated. It is
// pure: it looks at the slot's Job and its newest pod, and at the clock of the round.
//
//	the round opens      1/3 of inplace-timeout         2/3                               inplace-timeout
//	|                    |                              |                                 |
//	|  the slot's pod has Succeeded: its Job, at once   |                                 |
//	|                    |  a pod whose worker will not run in time: that pod             |
//	|                    |                              |  the slot's Job, if it is small |  the group
//
// Nothing is remembered: a pod or a Job that is being deleted, or is younger than the clock of the round, is the answer that
// was given already. A new leader begins the clock anew.
package ladder
