// Package rescheduling is the controller: it sees pods that something is wrong with, remembers their nodes on the object that
// answers for them, and has them moved. What is decided and why is for package policy.
//
//	pod event ─ observe ─ unbound ──── fill:    exclusions that came too late for its admission
//	                    │            └ relax:   exclusions that leave it no node are lifted
//	                    ├ abnormal ─── answer:  decide, remember on the root owner, evict
//	                    └ well ─────── restore: a move is given back, what is over is forgotten
package rescheduling
