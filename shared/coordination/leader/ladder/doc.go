// Package ladder decides how to repair a slot that does not join a round, before the whole group is recreated. It is pure: its
// input is the slot's Job and newest pod, and the clock of the round.
//
//	the round opens      1/3 of inplace-timeout         2/3                                 inplace-timeout
//	|                    |                              |                                   |
//	|  pod has Succeeded: recreate the Job immediately  |                                   |
//	|                    |  worker will not run in time: recreate the pod                   |
//	|                    |                              |  recreate the Job, if it is small |  recreate the group
//
// The package keeps no state. A pod or Job that is being deleted, or is newer than the start of the round's clock, shows that the
// slot has already been repaired. A new leader restarts the clock.
package ladder
