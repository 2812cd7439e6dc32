package relaxation

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Memory knows the pods whose exclusions were dropped, until their annotation is gone. An annotation that says something else than it did
// then counts again. It may be used by several goroutines, holds a bounded number of pods and forgets each after a while: what is forgotten
// costs one more failed attempt.
type Memory struct {
	limit int
	keep  time.Duration

	mu   sync.Mutex
	pods map[types.UID]*list.Element
	ages *list.List // of records, oldest first
}

type record struct {
	pod   types.UID
	value string
	at    time.Time
}

// NewMemory holds at most limit pods, each for the duration.
func NewMemory(limit int, keep time.Duration) *Memory {
	return &Memory{limit: limit, keep: keep, pods: map[types.UID]*list.Element{}, ages: list.New()}
}

// Remember that the pod's annotation, as it reads now, does not count any more.
func (m *Memory) Remember(pod types.UID, value string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, found := m.pods[pod]; found {
		m.drop(known)
	}
	for oldest := m.ages.Front(); oldest != nil && (m.ages.Len() >= m.limit || m.old(oldest, now)); oldest = m.ages.Front() {
		m.drop(oldest)
	}
	m.pods[pod] = m.ages.PushBack(record{pod: pod, value: value, at: now})
}

// Relaxed: this very annotation of the pod does not count.
func (m *Memory) Relaxed(pod types.UID, value string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, found := m.pods[pod]
	return found && known.Value.(record).value == value && !m.old(known, now)
}

func (m *Memory) old(e *list.Element, now time.Time) bool {
	return now.Sub(e.Value.(record).at) >= m.keep
}

func (m *Memory) drop(e *list.Element) {
	delete(m.pods, e.Value.(record).pod)
	m.ages.Remove(e)
}
