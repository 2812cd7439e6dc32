// Package credentials gives the agents of each JobSet their own user of the store: a generated password, a Secret that delivers it
// to the pods, and an access rule for the JobSet's group and nothing else.
//
// The orchestrator reads no Secrets. An annotation of the JobSet keeps what it needs later, the hashes of the passwords. A hash of
// 256 random bits reveals nothing about the password.
//
//	next password       annotation: hashes [new, old], pending     durable before anyone uses it
//	                    store: both are valid
//	                    Secret: new                                agents read the file on each connection
//	                    annotation: no longer pending
//	after the overlap   annotation: hashes [new]; store: only the new one
//
// A step that fails is retried with the same password. A leader may also die after any step. The next leader finds the annotation,
// and either continues or, if it needs the password itself, starts over with another one. However often that happens, two passwords
// stay valid: the one last known to be in the Secret, and the last one that the previous leader generated.
package credentials
