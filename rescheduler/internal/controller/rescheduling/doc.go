// Package rescheduling is the controller. It observes abnormal pods, records their nodes on the root owner, and moves them by eviction.
// Package policy decides what to do and why.
//
//	pod event ─ observe ─ unbound ──── fill:    add exclusions that are newer than its admission
//	                    │            └ relax:   replace node affinity that leaves it no node
//	                    ├ abnormal ─── answer:  decide, record on the root owner, evict
//	                    └ well ─────── restore: return moves, drop what has expired
package rescheduling
