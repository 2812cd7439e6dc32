// Package policy decides what becomes of a JobSet: which Jobs count, whether it is complete, has failed or restarts, which entries
// may start. It is pure: it reads objects that were observed before and returns what to do together with why.
package policy
