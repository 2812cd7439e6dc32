// Package policy decides what is done about a pod that something is wrong with: nothing, wait, remember the node, move the pod, or
// give up; and says why, in the words of the events and annotations that users read. It is pure: what time it is, what is in the
// cluster and how much of the budgets is left comes in as arguments.
//
//	managed? ── never moved? ── recovering below? ── long enough? ── workload or node? ── exhausted? ── pinned? ── somewhere else? ── budget
//	   no│          yes│               yes│              no│            workload│           yes│         yes│             no│        no│
//	   leave          leave              wait             wait            leave              lift         leave            leave       wait
package policy
