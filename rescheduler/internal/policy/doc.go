// Package policy decides what to do about an abnormal pod: nothing, wait, record the node, move the pod, or give up. It also gives the
// reason, in the words of the events and annotations that users read. It does no I/O. The time, the state of the cluster and the budgets
// are arguments.
//
//	managed? ── never moved? ── recovering below? ── long enough? ── workload or node? ── exhausted? ── pinned? ── somewhere else? ── budget
//	   no│          yes│               yes│              no│            workload│           yes│         yes│             no│        no│
//	   leave          leave              wait             wait            leave              lift         leave            leave       wait
package policy
