package orchestrator

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// losses are the pods that the watch has seen to be lost, until the next reconcile of their JobSet. What is noted stays
// true: a pod that is gone, or has ended, never comes back under its UID.
type losses struct {
	mu       sync.Mutex
	byJobSet map[types.NamespacedName]map[types.UID]loss
}

type loss struct {
	pod   *corev1.Pod // as it was last seen
	evict bool        // it leaves a gap; else it is only a reason to look
}

func (l *losses) note(jobSet types.NamespacedName, one loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(jobSet)[one.pod.UID] = one
}

// keep notes those again that were taken. What was seen of a pod meanwhile is newer.
func (l *losses) keep(jobSet types.NamespacedName, taken []loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range taken {
		if _, newer := l.of(jobSet)[one.pod.UID]; !newer {
			l.of(jobSet)[one.pod.UID] = one
		}
	}
}

// of is called with the lock held.
func (l *losses) of(jobSet types.NamespacedName) map[types.UID]loss {
	if l.byJobSet == nil {
		l.byJobSet = map[types.NamespacedName]map[types.UID]loss{}
	}
	if l.byJobSet[jobSet] == nil {
		l.byJobSet[jobSet] = map[types.UID]loss{}
	}
	return l.byJobSet[jobSet]
}

// take returns what was noted and forgets it.
func (l *losses) take(jobSet types.NamespacedName) []loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []loss
	for _, one := range l.byJobSet[jobSet] {
		list = append(list, one)
	}
	delete(l.byJobSet, jobSet)
	return list
}
