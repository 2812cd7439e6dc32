package signals

import (
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/history"
)

// Markers of the agents of groups that restart in place: the supervisor in a worker's command, or the flag or variable of the sidecar.
const (
	supervisor = "holdfast-exec"
	agentFlag  = "--worker-jobset-uid"
	agentEnv   = "JOBSET_UID"
)

// InPlace reports whether the pod belongs to a group that restarts in place.
func InPlace(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, isAgent) || slices.ContainsFunc(pod.Spec.Containers, isAgent)
}

func isAgent(c corev1.Container) bool {
	m := Marks(c)
	return len(m.Args)+len(m.Env) > 0
}

// Marks returns the container with only its name, its memory limit and the fields that InPlace reads.
func Marks(c corev1.Container) corev1.Container {
	slim := corev1.Container{Name: c.Name}
	if limit, found := c.Resources.Limits[corev1.ResourceMemory]; found {
		slim.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: limit}
	}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if path.Base(word) == supervisor || strings.HasPrefix(word, agentFlag) {
			slim.Args = append(slim.Args, word)
		}
	}
	for _, e := range c.Env {
		if e.Name == agentEnv {
			slim.Env = append(slim.Env, corev1.EnvVar{Name: e.Name})
		}
	}
	return slim
}

// ofLate is the maximum age of restarts that count against a node. A worker that fails once a day is not evidence against its node.
const ofLate = time.Hour

// Accounted returns the match of a pod in a group that restarts processes within their containers. Such restarts are invisible to the
// kubelet. The group's owner records them in history.Annotation. Only restarts that this pod caused on its current node count.
func (t Table) Accounted(pod *corev1.Pod, owner, account string, now time.Time) (Match, bool) {
	i := slices.IndexFunc(t, func(r Row) bool { return r.Where == Repeat && r.Trigger != Off })
	if i < 0 || !InPlace(pod) || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded {
		return Match{}, false
	}
	list, _ := history.Parse(account) // invalid entries are dropped
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

// Named returns the names of the pods that caused the restarts recorded in after but not in before.
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

// podOf returns the name of the pod in an entry: the names of the owner and the worker, and the suffix in e.Pod. It is empty if no pod
// caused the restart.
func podOf(owner string, e history.Entry) string {
	if e.Worker == "" || e.Pod == "" {
		return ""
	}
	return owner + "-" + e.Worker + "-" + e.Pod
}
