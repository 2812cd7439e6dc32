package signals

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/history"
)

// ofLate bounds the restarts that count against a node: a worker that fails once a day says nothing about where it is.
const ofLate = time.Hour

// Accounted is the match of a member of a group whose processes are restarted inside of their containers, of which the kubelet
// knows nothing: the group's owner keeps an account, history.Annotation. Those restarts count that this very pod has caused, on the
// node that it is on.
func (t Table) Accounted(pod *corev1.Pod, owner, account string, now time.Time) (Match, bool) {
	i := slices.IndexFunc(t, func(r Row) bool { return r.Where == Repeat && r.Trigger != Off })
	if i < 0 || !InPlace(pod) || !bound(pod) || pod.Status.Phase == corev1.PodSucceeded {
		return Match{}, false
	}
	list, _ := history.Parse(account) // what cannot be read is left out
	count := int32(0)
	var last history.Entry
	for _, e := range list {
		if e.Kind == history.InPlace && podOf(owner, e) == pod.Name && e.Node == pod.Spec.NodeName && now.Sub(e.FailedAt) < ofLate {
			count++
			last = e
		}
	}
	if count == 0 || count < t[i].Restarts {
		return Match{}, false
	}
	return Match{Row: t[i], Reason: last.Cause.String(), Since: last.FailedAt, Down: true}, true
}

// Named are the pods that an account blames, and did not before.
func Named(owner, before, after string) []string {
	old, _ := history.Parse(before)
	now, _ := history.Parse(after)
	var names []string
	for _, e := range now {
		known := slices.ContainsFunc(old, func(o history.Entry) bool { return o.Attempt == e.Attempt })
		if name := podOf(owner, e); !known && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// podOf an entry: it has the name of its worker before its own, and the owner's before that. It is empty if no pod was to blame.
func podOf(owner string, e history.Entry) string {
	if e.Worker == "" || e.Pod == "" {
		return ""
	}
	return owner + "-" + e.Worker + "-" + e.Pod
}
