// Package inject plans what is added to the Jobs of a JobSet that asks for in-place restarts by one annotation and brings no
// agent. It is pure.
//
//	Assess    what each replicatedJob is to get, what stands against it, and what is doubtful: from the JobSet alone
//	For       whether the Jobs of this attempt get it: what was decided for its first Job holds for all
//	Into      writes it into a Job that is being built
//
// Exec puts the supervisor in front of the worker's command; an init container brings the program on a volume in memory:
//
//	init container   holdfast-exec install /holdfast
//	worker           /holdfast/holdfast-exec flags -- original command and arguments
//
// CRI adds the sidecar of seed 000. The downward API gives both their identity.
package inject
