package policy

import (
	"errors"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

// Memory contains the decisions that the status records in a different form. The other status fields are used unchanged.
type Memory struct {
	// Indexes contains the desired workers.
	Indexes indexes.Set
	// Completed contains the workers that have succeeded.
	Completed indexes.Set
	// Workers contains the history of workers that have failed or were disrupted.
	Workers map[int]v1alpha1.WorkerHistory
	// Started is when the job was started or last resumed.
	Started time.Time
	// BelowMin is when the number of workers that can still run dropped below the minimum, or zero.
	BelowMin time.Time
	// Suspended means that the Suspended condition is True.
	Suspended bool
	// Ended is Succeeded or Failed once the job has finished, and EndedAt is when it finished.
	Ended   v1alpha1.JobConditionType
	EndedAt time.Time
	// Overdue means that the job failed because its deadline passed.
	Overdue bool
}

// ReadMemory reads the memory from a status. Invalid index sets are treated as empty and returned as an error.
func ReadMemory(status *v1alpha1.ElasticJobStatus) (Memory, error) {
	wanted, errWanted := indexes.Parse(status.Indexes)
	completed, errCompleted := indexes.Parse(status.CompletedIndexes)
	m := Memory{
		Indexes: wanted, Completed: completed, Workers: map[int]v1alpha1.WorkerHistory{},
		Started: ptr.Deref(status.StartTime, metav1.Time{}).Time, BelowMin: fromMicro(status.BelowMinSince),
	}
	for _, w := range status.Workers {
		m.Workers[int(w.Index)] = w
	}
	for _, c := range status.Conditions {
		if c.Status != metav1.ConditionTrue {
			continue
		}
		switch c.Type {
		case v1alpha1.JobSuspended:
			m.Suspended = true
		case v1alpha1.JobSucceeded, v1alpha1.JobFailed:
			m.Ended, m.EndedAt, m.Overdue = c.Type, c.LastTransitionTime.Time, c.Reason == v1alpha1.ReasonDeadlineExceeded
			if status.CompletionTime != nil { // the upstream controller does not set it for failed jobs
				m.EndedAt = status.CompletionTime.Time
			}
		}
	}
	return m, errors.Join(errWanted, errCompleted)
}

// Write writes the memory to a status.
func (m *Memory) Write(status *v1alpha1.ElasticJobStatus) {
	status.Indexes, status.CompletedIndexes = m.Indexes.String(), m.Completed.String()
	status.Workers = nil
	for _, index := range slices.Sorted(maps.Keys(m.Workers)) {
		h := m.Workers[index]
		h.Index = int32(index)
		status.Workers = append(status.Workers, h)
	}
	status.StartTime, status.CompletionTime, status.BelowMinSince = toTime(m.Started), toTime(m.EndedAt), toMicro(m.BelowMin)
}

func fromMicro(t *metav1.MicroTime) time.Time { return ptr.Deref(t, metav1.MicroTime{}).Time }

// toMicro truncates the time to the precision of the API, so that written and read times are equal.
func toMicro(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewMicroTime(t.Truncate(time.Microsecond)))
}

func toTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t.Truncate(time.Second)))
}
