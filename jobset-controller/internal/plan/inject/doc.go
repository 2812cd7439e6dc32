// Package inject plans what is added to the Jobs of a JobSet that requests in-place restarts by one annotation and brings no agent.
// It is pure.
//
//	Assess    decides, from the JobSet alone, what each replicatedJob gets, and reports problems and warnings
//	For       decides whether the Jobs of this attempt get it: the decision for its first Job holds for all
//	Into      writes it into a Job that is being built
//
// The exec driver puts the supervisor in front of the worker's command. An init container copies the program to a volume in memory:
//
//	init container   holdfast-exec install /holdfast
//	worker           /holdfast/holdfast-exec flags -- original command and arguments
//
// The cri driver adds the sidecar of JobSet KEP-876. Both get their identity from the downward API.
package inject
