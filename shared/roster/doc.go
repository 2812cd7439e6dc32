// Package roster is how the owner of a changing set of pods has them led as a group, without either program knowing the other's kind:
// two annotations on the owner's object.
//
//	owner         Roster   who is to be in the group now, and how often it may be restarted
//	orchestrator  Report   what the group does, which workers have failed, and which do not come back in place
//
// A member is a pod, not a place: a pod that replaces another is a new member under a new name, so nothing that was meant for the one
// before ever reaches it, and either program may have slept while they changed. Both annotations are levels. It is pure.
package roster
