package agent

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

// lines holds the connections for calls.
type lines struct {
	store func(*corev1.Pod) (valkey.Options, error)
	share int

	mu      sync.Mutex
	options map[string]valkey.Options // by group
	open    map[string]*line          // by group: has room for more agents
}

// line is one connection of a group, and counts the agents that use it.
type line struct {
	*valkey.Store
	group        string
	agents, left int
}

// take returns a line for one more agent of a group, which runs in the given pod.
func (l *lines) take(group string, pod *corev1.Pod) (*line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.open[group]
	if taken == nil {
		store, err := l.connect(group, pod)
		if err != nil {
			return nil, err
		}
		taken = &line{Store: store, group: group}
		l.open[group] = taken
	}
	if taken.agents++; taken.agents == l.share {
		delete(l.open, group)
	}
	return taken, nil
}

func (l *lines) connect(group string, pod *corev1.Pod) (*valkey.Store, error) {
	options, known := l.options[group]
	if !known {
		var err error
		if options, err = l.store(pod); err != nil {
			return nil, fmt.Errorf("determining how the agent in pod %s reaches the store: %w", pod.Name, err)
		}
		l.options[group] = options
	}
	return valkey.New(options)
}

// giveBack closes a line once its last agent has left.
func (l *lines) giveBack(one *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one.left++
	if one.left < one.agents {
		return
	}
	if l.open[one.group] == one {
		delete(l.open, one.group)
	}
	_ = one.Close()
}
