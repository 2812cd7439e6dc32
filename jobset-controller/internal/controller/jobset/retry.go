package jobset

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	// firstRetry and lastRetry limit the pause before a rejected write is retried. The pause doubles each time.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

var (
	// errForeign means that the object with that name belongs to another owner.
	errForeign = errors.New("exists and does not belong to this JobSet")
	// errTerminating means that an object with that name exists and is being deleted.
	errTerminating = errors.New("is being deleted")
)

// isRefusal reports whether the same write would immediately fail again, unless something outside this controller
// changes.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		errors.Is(err, errForeign) || errors.Is(err, errTerminating)
}

// notBefore records when work on a JobSet may be retried, so that events do not trigger it earlier. Losing this state
// is harmless: a manager that has just started tries everything once. The cache is safe for concurrent use, and only a
// JobSet's own reconcile lengthens its pauses.
type notBefore struct {
	clock clock.PassiveClock
	of    *lru.Cache
}

// task is one kind of work on a JobSet. A new spec or a new attempt makes it a different task.
type task struct {
	jobSet     types.UID
	generation int64
	restarts   int32
	what       string
}

// Tasks that exist once per JobSet. The tasks for each replicatedJob are given by jobsOf. updateJobs uses its notYet
// text as the task.
const (
	taskService   = "service"
	taskClaims    = "volume claims"
	taskStuckPods = "stuck pods"
	taskWrites    = "writes"
)

func jobsOf(rjob string) string { return "jobs of " + rjob }

// pause holds the time of the next retry, the length of the pause, and the error that caused it.
type pause struct {
	until time.Time
	wait  time.Duration
	cause error
}

func newNotBefore(c clock.PassiveClock) *notBefore {
	return &notBefore{clock: c, of: lru.New(cacheSize)}
}

func taskOf(js *v1alpha2.JobSet, what string) task {
	return task{js.UID, js.Generation, js.Status.Restarts, what}
}

// wait returns how long the task must wait (0 if it may run now) and the error that caused the wait, if any.
func (n *notBefore) wait(js *v1alpha2.JobSet, what string) (time.Duration, error) {
	found, ok := n.of.Get(taskOf(js, what))
	if !ok {
		return 0, nil
	}
	p := found.(pause)
	return max(0, p.until.Sub(n.clock.Now())), p.cause
}

// set makes the task wait.
func (n *notBefore) set(js *v1alpha2.JobSet, what string, wait time.Duration) {
	n.of.Add(taskOf(js, what), pause{until: n.clock.Now().Add(wait)})
}

// writePause is how long reconciles of a JobSet are delayed after a write to it or to one of its Jobs, so that the next
// reconcile finds the write in the cache. If the cache shows it later than that, the write is repeated, which changes
// nothing.
const writePause = 200 * time.Millisecond

// wrote starts the pause after a write.
func (r *Reconciler) wrote(js *v1alpha2.JobSet) { r.notBefore.set(js, taskWrites, writePause) }

// pauseAfterWrites returns the remainder of the pause.
func (r *Reconciler) pauseAfterWrites(js *v1alpha2.JobSet) ctrl.Result {
	wait, _ := r.notBefore.wait(js, taskWrites)
	return ctrl.Result{RequeueAfter: wait}
}

// refused makes the task wait longer after each error, and returns how long to wait. A nil error resets the pause.
func (n *notBefore) refused(js *v1alpha2.JobSet, what string, err error) time.Duration {
	key := taskOf(js, what)
	if err == nil {
		n.of.Remove(key)
		return 0
	}
	var last pause
	if found, ok := n.of.Get(key); ok {
		last = found.(pause)
	}
	wait := min(max(firstRetry, 2*last.wait), lastRetry)
	n.of.Add(key, pause{until: n.clock.Now().Add(wait), wait: wait, cause: err})
	return wait
}

// retry returns when to retry the task: after a pause if it was rejected, or as the work queue decides after any other
// error.
func (r *Reconciler) retry(js *v1alpha2.JobSet, what string, err error) (ctrl.Result, error) {
	if err != nil && !isRefusal(err) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.notBefore.refused(js, what, err)}, nil
}

// updateJobs changes or deletes Jobs, unless the API server has rejected that recently. It reports an error as an event
// that starts with the text notYet. It returns an empty result if everything was done.
func (r *Reconciler) updateJobs(s *scope, notYet string, update func() error) (ctrl.Result, error) {
	if wait, _ := r.notBefore.wait(s.jobSet, notYet); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err := update()
	if err != nil {
		r.warn(s.jobSet, jobUpdateFailed, notYet+": "+err.Error())
	}
	return r.retry(s.jobSet, notYet, err)
}
