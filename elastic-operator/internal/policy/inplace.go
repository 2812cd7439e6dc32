package policy

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// InPlace is a job's request for restarts in place, and the report of its group.
type InPlace struct {
	// Timeout of a restart; 0: the job asks for none, or cannot have any.
	Timeout time.Duration
	// Problem says why a job that asks cannot have any.
	Problem string
	// Roster that was written last.
	Roster *roster.Roster
	// Report of the group; nil: there is none.
	Report *roster.Report
}

const (
	// fadingTimeout is for workers that can restart in place of a job that asks for it no more. Without a group a failed one would wait for
	// ever.
	fadingTimeout = 5 * time.Minute
	// manyRestarts is as good as no limit, and has an end.
	manyRestarts = 1000
)

// countInPlace counts the failures that were answered in place, each once. The end of a pod that has ended, or is terminating, is counted by account.
func (d *decider) countInPlace() {
	if d.InPlace.Report == nil {
		return
	}
	for _, f := range d.InPlace.Report.Failures {
		if f.At <= d.m.InPlaceCounted {
			continue
		}
		d.m.InPlaceCounted = f.At
		index, uid, is := roster.ParseMember(f.Member)
		pod, there := d.Pods[index]
		if is && there && string(pod.UID) == uid && pod.running() && d.m.Indexes.Has(index) && !d.m.Completed.Has(index) &&
			d.m.Workers[index].LastPod != pod.UID {
			d.countFailure(index, pod, f)
		}
	}
}

// countFailure of a worker whose pod stays, unless it was the last that it had.
func (d *decider) countFailure(i int, pod Pod, f roster.Failure) {
	h := d.m.Workers[i]
	h.Failures++
	d.m.Restarts++
	d.m.InPlaceFailures++
	h.Permanent = h.Permanent || d.Settings.Restart == v1alpha1.RestartNever || slices.Contains(d.Settings.Permanent, int32(f.Code))
	h.LastReason, h.LastTime = howItFailed(f), d.Now
	d.m.Workers[i] = h
	d.out.Faults = append(d.out.Faults, CauseProgram)
	name := fmt.Sprintf("%s-worker-%d", d.Name, i)
	if !d.dead(i) {
		d.event(Event{
			Pod: name, Reason: EventInPlace, Action: actionRestart,
			Note: fmt.Sprintf("Pod: %s: its worker %s; the workers restart in place", name, h.LastReason),
		})
		return
	}
	h.LastPod = pod.UID
	d.m.Workers[i] = h
	d.tell(i, pod, fault{cause: CauseProgram, reason: h.LastReason})
}

func howItFailed(f roster.Failure) string {
	switch {
	case f.Kind == coordination.KindHang:
		return "made no progress for " + f.Reason
	case f.Reason != "":
		return fmt.Sprintf("exited with code %d (%s)", f.Code, f.Reason)
	}
	return "exited with code " + strconv.FormatInt(f.Code, 10)
}

// lost says why a pod does not come back in place; empty if it may.
func (d *decider) lost(i int, pod Pod) string {
	if d.InPlace.Report == nil {
		return ""
	}
	member := roster.Member(i, string(pod.UID))
	for _, one := range d.InPlace.Report.Lost {
		if one.Member == member {
			return one.Why
		}
	}
	return ""
}

// enroll those who are restarted in place together: whoever runs and is wanted. The first time there have to be enough of them to begin
// with; from then on the group follows.
func (d *decider) enroll() {
	if d.Deleted || d.m.Ended != "" || d.m.Suspended {
		return
	}
	r := &roster.Roster{Epoch: Epoch(d.m.Resumes), Timeout: d.InPlace.Timeout}
	for _, i := range d.m.Indexes {
		if pod, there := d.Pods[i]; there && d.enrolls(i, pod) {
			r.Members = append(r.Members, roster.Member(i, string(pod.UID)))
		}
	}
	before := d.InPlace.Roster
	begun := before != nil && before.Epoch == r.Epoch
	switch {
	case r.Timeout == 0 && len(r.Members) == 0:
		return
	case r.Timeout == 0:
		r.Timeout = fadingTimeout
	}
	if !begun && len(r.Members)+len(d.m.Completed) < d.Settings.Min {
		return
	}
	slices.Sort(r.Members)
	r.Members = r.Members[:min(len(r.Members), roster.MaxMembers)]
	r.Limit = d.limit(r)
	d.out.Roster = r
}

// Epoch of the group: all pods are gone between two of them.
func Epoch(resumes int32) int64 { return int64(resumes) + 1 }

func (d *decider) enrolls(i int, pod Pod) bool {
	return pod.Supervised && pod.running() && !d.dead(i) && !d.m.Completed.Has(i) && d.m.Workers[i].LastPod != pod.UID && !d.deletes(pod.UID)
}

func (d *decider) deletes(uid types.UID) bool {
	return slices.ContainsFunc(d.out.Delete, func(gone Deletion) bool { return gone.UID == uid })
}

// limit is up to which restart the group need not ask: as many as any worker may still fail. It is raised as workers use their own up, and
// never lowered, for a restart may be under way. A group that waits because a worker that may still fail was out of them gets one more.
func (d *decider) limit(r *roster.Roster) int64 {
	var round, limit int64
	waits := false
	if report := d.InPlace.Report; report != nil && report.Epoch == r.Epoch {
		round, waits = report.Round, report.Phase == coordination.Terminal
	}
	if before := d.InPlace.Roster; before != nil && before.Epoch == r.Epoch {
		limit = before.Limit
	}
	limit = max(limit, round+d.leastLeft())
	if waits && d.causeStays(r) {
		limit = max(limit, round+1)
	}
	return limit
}

// causeStays reports whether the worker that failed last is on the roster.
func (d *decider) causeStays(r *roster.Roster) bool {
	failures := d.InPlace.Report.Failures
	return len(failures) > 0 && slices.Contains(r.Members, failures[len(failures)-1].Member)
}

// leastLeft is how often each of the workers may still fail.
func (d *decider) leastLeft() int64 {
	least := int64(manyRestarts)
	if d.Settings.Restart == v1alpha1.RestartNever {
		return 0
	}
	for _, i := range d.m.Indexes {
		if d.Settings.Backoff != nil && !d.dead(i) && !d.m.Completed.Has(i) {
			least = min(least, int64(d.Settings.Backoff.Left(d.m.Workers[i].Failures+d.Pods[i].Restarts)))
		}
	}
	return least
}

// restartsInPlace says that the workers do, so that no other rung of the ladder answers the same fault.
func (d *decider) restartsInPlace() bool {
	report := d.InPlace.Report
	if report == nil || report.Phase != coordination.Restarting || !d.Now.Before(report.Deadline) {
		return false
	}
	d.out.Recovering = &recovering.State{Rung: recovering.RungProcess, Reason: report.Message, Deadline: report.Deadline}
	d.say(v1alpha1.JobRecovering, true, v1alpha1.ReasonRestartingInPlace, report.Message)
	d.requeueAt(report.Deadline)
	return true
}

// inSync says what becomes of restarts in place.
func (d *decider) inSync() {
	report := d.InPlace.Report
	c := Condition{Type: v1alpha1.JobInPlaceInSync, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonWaitingForWorkers, Always: true}
	switch {
	case d.InPlace.Problem != "":
		c.Reason, c.Message = v1alpha1.ReasonNotPossible, d.InPlace.Problem
	case d.InPlace.Timeout == 0:
		return
	case d.InPlace.Roster == nil:
		c.Message = fmt.Sprintf("the group begins with %d workers that run", d.Settings.Min)
	case report == nil:
		c.Reason, c.Message = v1alpha1.ReasonWaitingForLeader, "no orchestrator has taken the group on; does one lead ElasticJobs?"
	case report.Phase == coordination.Running:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonInSync, report.Message
	case report.Phase == coordination.Restarting:
		c.Reason, c.Message = v1alpha1.ReasonRestartingInPlace, report.Message
	default:
		c.Message = report.Message
	}
	d.out.Conditions = append(d.out.Conditions, c)
}
