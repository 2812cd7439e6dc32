package leader

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Report returns events and counts for what the actions of a reconcile have changed. There is one event for each kind of change.
func Report(o *Observation, m *Memory, now time.Time) (events []Event, counts []Count) {
	r := &reporter{planner: newPlanner(o, m, now), byPurpose: map[Purpose][]DeletePod{}}
	r.sort()
	r.repaired()
	r.taken()
	r.replaced()
	r.notReplaced()
	if pods := r.byPurpose[ForDead]; len(pods) > 0 {
		r.count(series.ForcedDeletions, float64(len(pods)))
		r.event(true, EventForced, forcedText(pods))
	}
	return r.plan.Events, r.plan.Counts
}

type reporter struct {
	*planner
	byPurpose map[Purpose][]DeletePod
	jobs      []DeleteJob
	created   []Done
	refused   []Done // by the API server
}

// sort groups the actions that took effect by purpose.
func (r *reporter) sort() {
	for _, d := range r.Done {
		switch a := d.Action.(type) {
		case Release:
			if d.OK() && a.Pod != "" {
				r.count(series.Evictions, 1)
			}
		case WriteGroup:
			if d.OK() && a.Reason == group.GivesUp {
				r.count(series.Timeouts, 1)
			}
		case DeletePod:
			if d.OK() {
				r.byPurpose[a.For] = append(r.byPurpose[a.For], a)
			}
		case DeleteJob:
			if d.OK() && a.For == ForRestart {
				r.jobs = append(r.jobs, a)
			}
		}
	}
	for _, d := range r.Done {
		a, is := d.Action.(CreatePod)
		switch {
		case !is:
		case d.Refused != "" && !a.Retry:
			r.refused = append(r.refused, d)
		case d.OK():
			r.created = append(r.created, d)
		}
	}
}

// repaired reports the pods and Jobs that were deleted to repair slots.
func (r *reporter) repaired() {
	r.deleted(ForForming, "the pod (%s), so that its owner creates a new one")
	r.deleted(ForFence, "the pod (%s), so that the slot gets a new one")
	if r.group == nil {
		return // the store has lost the group since; the repair continues once the group is restored
	}
	var left time.Duration // until the restart times out
	if r.clock != nil {
		left = r.clock.Remaining(r.now).Round(time.Second)
	}
	then := fmt.Sprintf("all Jobs are recreated if %d of %d workers have not joined within %s", r.group.Size-r.group.Joined, r.group.Size, left)
	r.deleted(ForRestart, "only this pod (%s), so that its owner creates a new one; "+then)
	if jobs := r.jobs; len(jobs) > 0 {
		r.count(series.Escalations, float64(len(jobs)), ScopeJob)
		r.event(true, EventJob, fmt.Sprintf("%s %s; deleting Job %s, to be recreated in generation %d; %s",
			workers(jobs[0].Slot, len(jobs)), jobs[0].Why, jobs[0].Job.Name, r.Owner.Epoch.Epoch, then))
	}
}

// deleted reports the pods that were deleted for a purpose. what is a format string with a verb for the first pod's name.
func (r *reporter) deleted(purpose Purpose, what string) {
	if pods := r.byPurpose[purpose]; len(pods) > 0 {
		r.count(series.Escalations, float64(len(pods)), ScopePod)
		r.event(true, EventPod, fmt.Sprintf("%s %s; deleting "+what, workers(pods[0].Slot, len(pods)), pods[0].Why, pods[0].Pod.Name))
	}
}

// taken reports the slots that spares have taken, according to the store.
func (r *reporter) taken() {
	if r.group == nil {
		return
	}
	var first rounds.Seat
	n := 0
	for _, d := range r.Done {
		if a, is := d.Action.(Release); !is || !d.OK() || a.Heir == (rounds.Slot{}) || a.Heir.Name == a.Name {
			continue
		} else if seat := (rounds.Seat{Slot: rounds.Slot{Name: a.Name, Pod: a.Heir.Pod}, Home: a.Heir.Name}); slices.Contains(r.group.Given, seat) {
			if n++; n == 1 {
				first = seat
			}
		}
	}
	if n == 0 {
		return
	}
	r.count(series.SparesUsed, float64(n))
	r.event(false, EventSpare, fmt.Sprintf("%s; spare %s %s; the next pod of the slot becomes a spare",
		lostPods(first.Name, n), first.Home, plural(n, "takes its slot", "and other spares take their slots")))
}

// notReplaced reports the pods that the API server rejected, for example because of a quota.
func (r *reporter) notReplaced() {
	if len(r.refused) == 0 {
		return
	}
	first, n := r.refused[0], len(r.refused)
	r.event(true, EventNotReplaced, fmt.Sprintf("%s %s, and the API server rejected %s (%s); the owner creates pods after its back-off",
		workers(first.Action.(CreatePod).Slot, n), plural(n, "has no pod", "have no pods"), plural(n, "a replacement", "replacements"), first.Refused))
}

func (r *reporter) replaced() {
	if len(r.created) == 0 {
		return
	}
	r.count(series.Replacements, float64(len(r.created)))
	first, n := r.created[0], len(r.created)
	r.event(false, EventReplaced, fmt.Sprintf("%s; created %s (%s) without waiting for the Job's back-off",
		lostPods(first.Action.(CreatePod).Slot, n), plural(n, "a replacement", "replacements"), first.Pod.Name))
}

// forcedText describes the forced deletions. It names the first pod and the evidence for its node.
func forcedText(pods []DeletePod) string {
	first, more := pods[0], ""
	if n := len(pods) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("pod %s is terminating, and %s; force-deleted it%s, each slot gets a new pod", first.Pod.Name, first.Why, more)
}

// lostPods returns a text that says that n workers have lost their pods and names the first one.
func lostPods(first string, n int) string {
	return workers(first, n) + plural(n, " lost its pod", " lost their pods")
}

// workers returns a text that names the first of n workers.
func workers(first string, n int) string {
	if n == 1 {
		return "worker " + first
	}
	return fmt.Sprintf("worker %s and %d more", first, n-1)
}
