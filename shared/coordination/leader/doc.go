// Package leader decides what the orchestrator does about one group: it compares what the JobSet asks for with what the
// store and the annotations hold, and names the next step. It is pure; each step brings the two closer, so that the
// orchestrator may die between any two of them and another one goes on.
//
// Steps and held workers need no leader: the store lets steps in and stages go by itself. A Completed group is left alone
// until its JobSet has finished, and then dropped.
package leader
