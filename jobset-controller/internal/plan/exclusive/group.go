package exclusive

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Anchor is the pod whose node decides the domain of its Job, nil if none has a node. It is the leader; while the leader is lost
// or has none, any other pod that runs, because the affinity of the next leader draws it to them. Of two leaders it is the older
// one, which the Job controller keeps; a leader that has succeeded counts where no living one does.
//
// pods are those of one Job.
func Anchor(pods []*corev1.Pod) *corev1.Pod {
	placed := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool {
		return p.Spec.NodeName == "" || !p.DeletionTimestamp.IsZero() || p.Status.Phase == corev1.PodFailed
	})
	if len(placed) == 0 {
		return nil
	}
	return slices.MinFunc(placed, func(a, b *corev1.Pod) int {
		return cmp.Or(compareBool(Leads(b), Leads(a)), compareBool(lives(b), lives(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func lives(p *corev1.Pod) bool {
	return p.DeletionTimestamp.IsZero() && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

// Leader is the leader that lives, nil without one.
func Leader(pods []*corev1.Pod) *corev1.Pod {
	i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return Leads(p) && lives(p) })
	if i < 0 {
		return nil
	}
	return pods[i]
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
	leader := Leader(pods)
	decided := leader != nil && leader.Spec.NodeName != ""
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
