// Package credentials gives the agents of each JobSet a user of their own at the store: a password that is made here, a Secret
// that brings it to the pods, and an access rule for the JobSet's group and nothing else.
//
// The orchestrator reads no Secret. What it has to know again later, the hashes of the passwords, is in an annotation of the
// JobSet; a hash of 256 random bits gives nothing away.
//
//	next password       annotation: hashes [new, old], pending     durable before anybody uses it
//	                    store: both are valid
//	                    Secret: new                                agents read the file at each connect
//	                    annotation: no longer pending
//	after the overlap   annotation: hashes [new]; store: only that one
//
// Every step may fail: it is tried again, with the same password. And every step may be the last of a leader: the next one finds the
// annotation, and goes on or begins anew, with another password, for it does not know that one. However often that happens, the one that
// was last known to be in the Secret stays valid, and so does the one that the leader before has left.
package credentials
