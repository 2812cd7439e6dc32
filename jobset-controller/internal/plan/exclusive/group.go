package exclusive

import (
	corev1 "k8s.io/api/core/v1"
)

// Anchor is the pod whose node decides the domain of its Job, nil if none has a node. It is the leader; while the leader is lost
// or has none, any other pod that runs, because the affinity of the next leader draws it to them. Of two leaders it is the older
// one, which the Job controller keeps. Pods that have ended do not count: to the scheduler their domain is free.
//
// pods are those of one Job.
func Anchor(pods []*corev1.Pod) *corev1.Pod {
	var anchor *corev1.Pod
	for _, p := range pods {
		if p.Spec.NodeName != "" && lives(p) && (anchor == nil || goesBefore(p, anchor)) {
			anchor = p
		}
	}
	return anchor
}

func goesBefore(a, b *corev1.Pod) bool {
	if Leads(a) != Leads(b) {
		return Leads(a)
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

func lives(p *corev1.Pod) bool {
	return p.DeletionTimestamp.IsZero() && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

// Leader is the leader that lives, nil without one.
func Leader(pods []*corev1.Pod) *corev1.Pod {
	return first(pods, func(p *corev1.Pod) bool { return Leads(p) })
}

// Waiting is the first follower by name that waits for its domain, nil without one.
func Waiting(pods []*corev1.Pod) *corev1.Pod { return first(pods, Held) }

// first by name of those that live.
func first(pods []*corev1.Pod, is func(*corev1.Pod) bool) *corev1.Pod {
	var found *corev1.Pod
	for _, p := range pods {
		if lives(p) && is(p) && (found == nil || p.Name < found.Name) {
			found = p
		}
	}
	return found
}

// Moves are what is to become of the followers of one Job.
type Moves struct {
	// Release are followers that wait and whose domain is known.
	Release []*corev1.Pod
	// Evict are followers that are, or may only go, where their leader is not.
	Evict []*corev1.Pod
}

// Plan compares the followers with the domain of their Anchor. domainOf gives the domain of a node, "" if it is not known; a
// pod on such a node is let be. Only a leader that lives has others evicted: without one nobody knows better.
func Plan(pods []*corev1.Pod, domain string, domainOf func(node string) string) Moves {
	var m Moves
	anchor := Anchor(pods)
	decided := anchor != nil && Leads(anchor)
	for _, p := range pods {
		if Leads(p) || !lives(p) {
			continue
		}
		switch {
		case Held(p):
			m.Release = append(m.Release, p)
		case decided && strays(p, domain, domainOf):
			m.Evict = append(m.Evict, p)
		}
	}
	return m
}

// strays: the pod runs in another domain, or waits for a node in another one, or in any.
func strays(p *corev1.Pod, domain string, domainOf func(node string) string) bool {
	if p.Spec.NodeName == "" {
		return p.Spec.NodeSelector[Topology(p)] != domain
	}
	actual := domainOf(p.Spec.NodeName)
	return actual != "" && actual != domain
}
