// Package appwrapper makes the world follow AppWrappers. What to do is decided by package policy; here is what reads the world for it
// and does what it says.
//
//	observe (cache) -> policy.Decide -> [observe (live) -> policy.Decide] -> act -> write the status -> events, metrics
//
// The second look is taken for decisions that end an attempt: a cache may still show the objects of the one before.
package appwrapper
