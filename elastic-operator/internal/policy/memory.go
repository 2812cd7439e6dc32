package policy

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

// Memory is what the status keeps of earlier decisions.
type Memory struct {
	// Indexes of the workers that are wanted.
	Indexes indexes.Set
	// Completed workers.
	Completed indexes.Set
	// Workers that have a history, by index.
	Workers map[int]History
	// Restarts and Disruptions of all workers, also of those that are gone.
	Restarts, Disruptions int32
	Started               time.Time
	BelowMin              time.Time
	GivenBack             *GivenBack
	Resumes               int32
	// InPlace failures, and up to when they have been counted, in Unix milliseconds.
	InPlaceFailures int32
	InPlaceCounted  int64
	// Suspended was the last that was said.
	Suspended bool
	// Ended: Succeeded or Failed, at this time.
	Ended   v1alpha1.JobConditionType
	EndedAt time.Time
	// Overdue: it ended because of its deadline.
	Overdue bool
}

// History of a worker.
type History struct {
	Failures, Disruptions int32
	Permanent             bool
	LastPod               types.UID
	LastReason            string
	LastTime              time.Time
}

// GivenBack says that fewer workers are asked for than wanted.
type GivenBack struct {
	Replicas, Wanted int
	Since            time.Time
}

// Recall what a status holds. What cannot be read counts as not written; the error is for people.
func Recall(status *v1alpha1.ElasticJobStatus) (Memory, error) {
	wanted, errWanted := indexes.Parse(status.Indexes)
	completed, errCompleted := indexes.Parse(status.CompletedIndexes)
	m := Memory{
		Indexes: wanted, Completed: completed, Workers: map[int]History{},
		Restarts: status.Restarts, Disruptions: status.Disruptions, Resumes: status.Resumes,
	}
	for _, w := range status.Workers {
		m.Workers[int(w.Index)] = History{
			Failures: w.Failures, Disruptions: w.Disruptions, Permanent: w.Permanent, LastPod: w.LastPod, LastReason: w.LastReason,
			LastTime: fromMicro(w.LastTime),
		}
	}
	if status.StartTime != nil {
		m.Started = status.StartTime.Time
	}
	m.BelowMin = fromMicro(status.BelowMinSince)
	if g := status.GivenBack; g != nil {
		m.GivenBack = &GivenBack{Replicas: int(g.Replicas), Wanted: int(g.Wanted), Since: g.Since.Time}
	}
	if p := status.InPlace; p != nil {
		m.InPlaceFailures = p.Failures
		if p.Counted != nil {
			m.InPlaceCounted = p.Counted.UnixMilli()
		}
	}
	m.recallConditions(status)
	if errWanted != nil {
		return m, errWanted
	}
	return m, errCompleted
}

func (m *Memory) recallConditions(status *v1alpha1.ElasticJobStatus) {
	for _, c := range status.Conditions {
		if c.Status != metav1.ConditionTrue {
			continue
		}
		switch c.Type {
		case v1alpha1.JobSuspended:
			m.Suspended = true
		case v1alpha1.JobSucceeded, v1alpha1.JobFailed:
			m.Ended, m.EndedAt, m.Overdue = c.Type, c.LastTransitionTime.Time, c.Reason == v1alpha1.ReasonDeadlineExceeded
			if status.CompletionTime != nil { // the published controller sets none when a job has failed
				m.EndedAt = status.CompletionTime.Time
			}
		}
	}
}

// Write the memory into a status.
func (m *Memory) Write(status *v1alpha1.ElasticJobStatus) {
	status.Indexes, status.CompletedIndexes = m.Indexes.String(), m.Completed.String()
	status.Restarts, status.Disruptions, status.Resumes = m.Restarts, m.Disruptions, m.Resumes
	status.Workers = nil
	for _, index := range slices.Sorted(maps.Keys(m.Workers)) {
		h := m.Workers[index]
		status.Workers = append(status.Workers, v1alpha1.WorkerHistory{
			Index: int32(index), Failures: h.Failures, Disruptions: h.Disruptions, Permanent: h.Permanent, LastPod: h.LastPod,
			LastReason: h.LastReason, LastTime: toMicro(h.LastTime),
		})
	}
	status.InPlace = nil
	if m.InPlaceCounted > 0 {
		status.InPlace = &v1alpha1.InPlaceStatus{Failures: m.InPlaceFailures, Counted: toMicro(time.UnixMilli(m.InPlaceCounted))}
	}
	status.BelowMinSince = toMicro(m.BelowMin)
	status.StartTime, status.CompletionTime, status.GivenBack = toTime(m.Started), toTime(m.EndedAt), nil
	if g := m.GivenBack; g != nil {
		status.GivenBack = &v1alpha1.GivenBack{Replicas: int32(g.Replicas), Wanted: int32(g.Wanted), Since: *toMicro(g.Since)}
	}
}

// clone lets a decision change the memory and leave the facts alone.
func (m Memory) clone() Memory {
	m.Indexes, m.Completed = slices.Clone(m.Indexes), slices.Clone(m.Completed)
	workers := make(map[int]History, len(m.Workers))
	maps.Copy(workers, m.Workers)
	m.Workers = workers
	if m.GivenBack != nil {
		m.GivenBack = new(*m.GivenBack)
	}
	return m
}

func fromMicro(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// toMicro cuts off what the API does not keep, so that what is written equals what is read.
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
