package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// InPlace is the observed state of in-place restarts.
type InPlace struct {
	// Timeout is the timeout of a restart. It is 0 if in-place restarts are not requested or not possible.
	Timeout time.Duration
	// Problem describes why requested in-place restarts are not possible.
	Problem string
	// Roster is the last written roster, or nil.
	Roster *roster.Roster
	// Report is the orchestrator's report about the group, or nil.
	Report *roster.Report
}

func (p InPlace) report() roster.Report { return ptr.Deref(p.Report, roster.Report{}) }

const (
	// disabledTimeout is the timeout for workers that still have a supervisor after in-place restarts were disabled for the job. Without a
	// group, a failed worker would wait forever.
	disabledTimeout = 5 * time.Minute
	// unlimitedRestarts is the restart limit of a group without a backoffLimit.
	unlimitedRestarts = 1000
)

// countInPlace counts each failure that was handled by an in-place restart exactly once. Pods that have failed or are terminating are counted
// by account.
func (d *decider) countInPlace() {
	for _, f := range d.InPlace.report().Failures {
		status := ptr.Deref(d.out.Status.InPlace, v1alpha1.InPlaceStatus{})
		if f.At <= fromMicro(status.Counted).UnixMilli() {
			continue
		}
		status.Counted = toMicro(time.UnixMilli(f.At))
		d.out.Status.InPlace = &status
		index, uid, valid := roster.ParseMember(f.Member)
		pod, found := d.Pods[index]
		if valid && found && string(pod.UID) == uid && pod.running() && d.m.Indexes.Has(index) && !d.m.Completed.Has(index) &&
			d.m.Workers[index].LastPod != pod.UID {
			d.countFault(index, pod, fault{cause: CauseProgram, reason: failureReason(f), permanent: d.permanent(int32(f.Code)), inPlace: true})
		}
	}
}

func failureReason(f roster.Failure) string {
	switch {
	case f.Kind == coordination.KindHang:
		return "made no progress for " + f.Reason
	case f.Reason != "":
		return fmt.Sprintf("%s %d (%s)", exitedWith, f.Code, f.Reason)
	}
	return fmt.Sprintf("%s %d", exitedWith, f.Code)
}

// inPlaceFailure returns why the in-place restart of a pod failed, or an empty string.
func (d *decider) inPlaceFailure(i int, pod Pod) string {
	member := roster.Member(i, string(pod.UID))
	for _, lost := range d.InPlace.report().Lost {
		if lost.Member == member {
			return lost.Why
		}
	}
	return ""
}

// updateRoster lists the workers that restart in place together: all running workers that are desired. The group forms once minReplicas
// workers are running. After that, the roster follows every change.
func (d *decider) updateRoster() {
	if d.m.Ended != "" || d.m.Suspended {
		return
	}
	r := &roster.Roster{Epoch: Epoch(d.out.Status.Resumes), Timeout: d.InPlace.Timeout}
	for _, i := range d.m.Indexes {
		if pod, found := d.Pods[i]; found && d.isMember(i, pod) {
			r.Members = append(r.Members, roster.Member(i, string(pod.UID)))
		}
	}
	before := ptr.Deref(d.InPlace.Roster, roster.Roster{})
	formed := before.Epoch == r.Epoch
	if r.Timeout == 0 && len(r.Members) == 0 || !formed && len(r.Members)+len(d.m.Completed) < d.Settings.Min {
		return
	}
	if r.Timeout == 0 {
		r.Timeout = disabledTimeout
	}
	slices.Sort(r.Members)
	r.Members = r.Members[:min(len(r.Members), roster.MaxMembers)]
	r.Limit = d.limit(r)
	if formed {
		r.Limit = max(r.Limit, before.Limit)
	}
	d.out.Roster = r
}

// Epoch returns the generation of the group. All pods are deleted before the next generation starts.
func Epoch(resumes int32) int64 { return int64(resumes) + 1 }

func (d *decider) isMember(i int, pod Pod) bool {
	return pod.Supervised && pod.running() && !d.abandoned(i) && !d.m.Completed.Has(i) && d.m.Workers[i].LastPod != pod.UID && !d.deletes(pod.UID)
}

func (d *decider) deletes(uid types.UID) bool {
	return slices.ContainsFunc(d.out.Delete, func(deletion Deletion) bool { return deletion.UID == uid })
}

// limit returns the restart count up to which the group may restart without another decision. It is chosen so that no worker can exceed its
// backoffLimit before then. The limit rises as long as every worker has retries left, and the caller never lowers it, because a restart may
// be in progress. If the group has reached the limit and the worker that failed last is still a member, the group gets one more restart.
func (d *decider) limit(r *roster.Roster) int64 {
	report := d.InPlace.report()
	if report.Epoch != r.Epoch {
		return d.failuresLeft()
	}
	left, n := d.failuresLeft(), len(report.Failures)
	if report.Phase == coordination.Terminal && n > 0 && slices.Contains(r.Members, report.Failures[n-1].Member) {
		left = max(left, 1)
	}
	return report.Round + left
}

// failuresLeft returns how many more times a worker may fail before it is abandoned. If the workers differ, it returns the minimum.
func (d *decider) failuresLeft() int64 {
	least := int64(unlimitedRestarts)
	if d.Settings.Restart == v1alpha1.RestartNever {
		return 0
	}
	for _, i := range d.m.Indexes {
		if d.Settings.Backoff != nil && !d.abandoned(i) && !d.m.Completed.Has(i) {
			least = min(least, int64(d.Settings.Backoff.Left(d.m.Workers[i].Failures+d.Pods[i].Restarts)))
		}
	}
	return least
}

// announceInPlace announces an in-place restart that is in progress, so that no other recovery level handles the same fault. It reports
// whether such a restart is in progress.
func (d *decider) announceInPlace() bool {
	report := d.InPlace.report()
	if report.Phase != coordination.Restarting || d.reached(report.Deadline) {
		return false
	}
	d.out.Recovering = &recovering.State{Level: recovering.LevelProcess, Reason: report.Message, Deadline: report.Deadline}
	d.setCondition(v1alpha1.JobRecovering, true, v1alpha1.ReasonRestartingInPlace, report.Message)
	return true
}

// reportInSync sets the InPlaceInSync condition of a job that requests in-place restarts.
func (d *decider) reportInSync() {
	report := d.InPlace.Report
	set := func(reason, message string) {
		d.setCondition(v1alpha1.JobInPlaceInSync, reason == v1alpha1.ReasonInSync, reason, message)
	}
	switch {
	case d.InPlace.Problem != "":
		set(v1alpha1.ReasonNotPossible, d.InPlace.Problem)
	case d.InPlace.Timeout == 0:
	case d.InPlace.Roster == nil:
		set(v1alpha1.ReasonWaitingForWorkers, fmt.Sprintf("waiting until %d workers are running", d.Settings.Min))
	case report == nil:
		set(v1alpha1.ReasonWaitingForLeader, "waiting for the orchestrator: check that it runs with --elasticjobs")
	case report.Phase == coordination.Running:
		set(v1alpha1.ReasonInSync, report.Message)
	case report.Phase == coordination.Restarting:
		set(v1alpha1.ReasonRestartingInPlace, report.Message)
	default:
		set(v1alpha1.ReasonWaitingForWorkers, report.Message)
	}
}
