// Package rescheduling is the controller: it sees pods that something is wrong with, remembers their nodes on the object that
// answers for them, and has them moved. What is decided and why is for package policy.
//
//	pod event ─ observe ─ unbound ──── fill:    exclusions that came too late for its admission
//	                    │            └ relax:   node affinity that leaves it no node is replaced
//	                    ├ abnormal ─── answer:  decide, remember on the root owner, evict
//	                    └ well ─────── restore: moves are given back, what is over is forgotten
package rescheduling
