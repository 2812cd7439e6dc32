// Package policy is the life of a workload as a pure state machine: what is known goes in, what to do and to write down comes out,
// with the reason. Nothing is read or written here, and the time is an argument.
//
//	                       suspend is false                  all created
//	"" ----> Suspended ----------------------> Resuming -------------------> Running ----> Succeeded
//	             ^                             |  |   ^                      |  |  |
//	             |            suspend          |  |   | pause over           |  |  |  failed for good, or
//	             +---- Suspending <------------+--|---|----------------------+  |  |  no reset left
//	         all gone      ^                      |   |      unhealthy          |  +----------------> Failed
//	                       |      suspend         v   |                         |                        ^
//	                       +------------------- Resetting <---------------------+                        |
//	                                                                                not to be created ---+
//
// A deleted AppWrapper goes from anywhere to Terminating. Every arrow is one write of the status, made onto the version that was
// observed; what has to be done in a phase is done after the phase was written, and again until the world shows that it is done.
package policy
