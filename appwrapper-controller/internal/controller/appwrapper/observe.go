package appwrapper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// observe performs all reads of a reconcile, live if the decision must not be based on a stale cache.
func (r *Reconciler) observe(ctx context.Context, aw *v1beta2.AppWrapper, live bool) (*scope, error) {
	s := &scope{aw: aw, status: aw.Status.DeepCopy()}
	initComponents(s.status, aw)
	s.readSpecAndStatus(time.Now(), r.Config)
	if r.Reviews != nil {
		s.readReview(r.Reviews)
	}
	switch {
	case s.facts.Phase == v1beta2.Running && !s.facts.Deleted:
		return s, r.observeRunning(ctx, s, live)
	case policy.Removing(&s.facts):
		return s, r.observeRemains(ctx, s)
	}
	return s, nil
}

func (s *scope) readSpecAndStatus(now time.Time, config settings.AppWrapper) {
	aw := s.aw
	f := &s.facts
	f.Parameters, s.problems = settings.Read(aw.Annotations, config.FaultTolerance)
	f.Now, f.Suspend, f.Deleted = now, aw.Spec.Suspend, !aw.DeletionTimestamp.IsZero()
	f.Phase, f.Retries, f.Evacuations = aw.Status.Phase, aw.Status.Retries, aw.Status.Evacuations
	f.Finalizer = controllerutil.ContainsFinalizer(aw, v1beta2.Finalizer)
	f.Deployed = meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.ResourcesDeployed))
	f.Ready = meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.PodsReady))
	f.Clocks = policy.ReadClocks(&aw.Status)
	f.ReadyFor = readyFor(aw, f.Ready, f.Clocks.NotReadySince.Time, now)
	f.EvacuationLimit = config.NodeHealth.EvacuationLimit
}

// readReview decides whether the components may be created. An AppWrapper that has a phase but no review was started by an earlier build or
// by the upstream controller. Its current templates count as reviewed.
func (s *scope) readReview(reviews *review.Reviews) {
	known := s.aw.Status.Reviewed
	creates := s.facts.Phase == v1beta2.Empty || s.facts.Phase == v1beta2.Suspended || s.facts.Phase == v1beta2.Resuming
	if known != nil && !creates {
		return // computing the digest requires decoding all templates
	}
	now := v1beta2.Review{UID: s.aw.UID, Templates: review.Digest(s.aw)}
	switch {
	case s.facts.Phase == v1beta2.Empty:
		if err := reviews.Verify(s.aw); err != nil {
			s.facts.Unreviewed = err.Error()
			return
		}
	case known != nil && *known != now:
		s.facts.Unreviewed = "its templates have changed since they were checked"
		return
	}
	s.status.Reviewed = &now
}

// readyFor returns how long the attempt has been ready, or was ready before its pods stopped being ready.
func readyFor(aw *v1beta2.AppWrapper, ready bool, notReadySince, now time.Time) time.Duration {
	n := len(aw.Status.Attempts)
	if n == 0 || aw.Status.Attempts[n-1].ReadyTime == nil {
		return 0
	}
	end := now
	if !ready {
		end = notReadySince
	}
	return max(0, end.Sub(aw.Status.Attempts[n-1].ReadyTime.Time))
}

func (r *Reconciler) observeRunning(ctx context.Context, s *scope, live bool) error {
	for i := range s.status.ComponentStatus {
		c, err := r.find(ctx, s, i, live)
		if err != nil {
			return err
		}
		if c.meta == nil { // looked up after the read, because the object may have been deleted in the meantime
			c.report = r.kinds.finalReport(s.aw.UID, c.ref, s.facts.Clocks.AttemptStart.Time)
		}
		s.components = append(s.components, c)
		s.facts.Components = append(s.facts.Components, s.component(i, c))
	}
	var err error
	if s.pods, err = r.listPods(ctx, s.aw, live); err != nil {
		return err
	}
	s.facts.Pods = pods.Summarize(s.pods)
	if err := r.observeChildJobs(ctx, s, live); err != nil {
		return err
	}
	return r.observeNodes(ctx, s)
}

// find reads a component's object. It ignores an object that has a different controller, because names are reused and anyone can set
// labels.
func (r *Reconciler) find(ctx context.Context, s *scope, i int, live bool) (observedComponent, error) {
	c := observedComponent{ref: s.reference(i)}
	if c.ref.Name == "" {
		return c, nil
	}
	object, err := r.kinds.get(ctx, c.ref, live)
	switch {
	case apierrors.IsForbidden(err):
		c.presence = policy.Unreadable
		return c, nil
	case errors.Is(err, errKindGone) || apierrors.IsNotFound(err):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("getting %s: %w", c.ref, err)
	case !metav1.IsControlledBy(object, s.aw):
		return c, nil
	}
	c.meta, c.presence, c.report = object, policy.Present, health.Of(object)
	r.kinds.record(s.aw.UID, c.ref, object, c.report)
	if object.GetDeletionTimestamp() != nil {
		c.presence = policy.Terminating
	}
	return c, nil
}

func (s *scope) component(i int, c observedComponent) policy.Component {
	cs := &s.status.ComponentStatus[i]
	fact := policy.Component{
		Name:      c.ref.String(),
		Created:   meta.IsStatusConditionTrue(cs.Conditions, string(v1beta2.ResourcesDeployed)),
		Presence:  c.presence,
		Report:    c.report,
		Finishes:  health.ReportsCompletion(c.ref.GroupKind()),
		Succeeded: meta.IsStatusConditionTrue(cs.Conditions, string(v1beta2.ComponentSucceeded)),
	}
	for _, set := range cs.PodSets {
		fact.Pods += set.Count()
	}
	if fact.Report.State == health.Complete {
		setComponent(cs, v1beta2.ComponentSucceeded, true, "Complete", "")
	}
	if c.meta != nil { // every other recovery level takes precedence over a reset
		if until := recovering.Until(recovering.LevelReset, s.facts.Now, c.meta.GetAnnotations()); until.After(s.facts.Recovering) {
			s.facts.Recovering = until
		}
	}
	return fact
}

func (r *Reconciler) listPods(ctx context.Context, aw *v1beta2.AppWrapper, live bool) ([]*corev1.Pod, error) {
	var list corev1.PodList
	var err error
	if live {
		err = r.Live.List(ctx, &list, client.InNamespace(aw.Namespace), client.MatchingLabels{v1beta2.AppWrapperLabel: aw.Name})
	} else {
		err = r.Client.List(ctx, &list, client.InNamespace(aw.Namespace), client.MatchingFields{labelIndex: aw.Name}, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	found := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		found[i] = &list.Items[i]
	}
	return found, nil
}

// jobSetName is the label that holds the name of the JobSet on its Jobs.
const jobSetName = "jobset.sigs.k8s.io/jobset-name"

// observeChildJobs counts the succeeded pods of JobSets and the pods that should be active. The status of a JobSet is not sufficient,
// because it reports a Job as ready when the pods of one wave have succeeded. The pods are not sufficient either, because succeeded ones
// may have been deleted. A Job's own status is updated with a delay, so the larger of the two numbers counts.
func (r *Reconciler) observeChildJobs(ctx context.Context, s *scope, live bool) error {
	var from client.Reader = r.Client
	if live {
		from = r.Live
	}
	podsOf := map[types.UID]int32{} // succeeded pods that exist, by their owner
	for _, pod := range s.pods {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && pod.Status.Phase == corev1.PodSucceeded {
			podsOf[owner.UID]++
		}
	}
	for i, c := range s.components {
		if c.ref.GroupKind() != health.JobSet || c.meta == nil {
			continue
		}
		var jobs batchv1.JobList
		if err := from.List(ctx, &jobs, client.InNamespace(c.ref.Namespace), client.MatchingLabels{jobSetName: c.ref.Name}); err != nil {
			return fmt.Errorf("listing the jobs of %s: %w", c.ref, err)
		}
		report := &s.facts.Components[i].Report
		report.Active = new(int32(0))
		for k := range jobs.Items {
			if job := &jobs.Items[k]; metav1.IsControlledBy(job, c.meta) {
				succeeded := max(job.Status.Succeeded, podsOf[job.UID])
				report.Succeeded += succeeded
				*report.Active += activePods(job, succeeded)
			}
		}
	}
	return nil
}

// activePods returns how many pods of a Job should be active now.
func activePods(job *batchv1.Job, succeeded int32) int32 {
	if job.Status.CompletionTime != nil {
		return 0
	}
	parallelism := ptr.Deref(job.Spec.Parallelism, 1)
	return max(0, min(parallelism, ptr.Deref(job.Spec.Completions, parallelism)-succeeded))
}

// observeRemains finds the objects that have not been deleted yet. Only live reads can show that nothing remains.
func (r *Reconciler) observeRemains(ctx context.Context, s *scope) error {
	for _, live := range []bool{false, true} {
		s.components, s.facts.Remains = nil, nil
		if err := r.findRemains(ctx, s, live); err != nil {
			return err
		}
		if len(s.facts.Remains) > 0 {
			return nil
		}
	}
	for i := range s.status.ComponentStatus {
		if cs := &s.status.ComponentStatus[i]; cs.Name != "" {
			setComponent(cs, v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentDeleted, "")
		}
	}
	return nil
}

func (r *Reconciler) findRemains(ctx context.Context, s *scope, live bool) error {
	for i := range s.status.ComponentStatus {
		if isGone(s.status.ComponentStatus[i]) {
			s.components = append(s.components, observedComponent{ref: s.reference(i)})
			continue
		}
		c, err := r.find(ctx, s, i, live)
		if err != nil {
			return err
		}
		s.components = append(s.components, c)
		switch c.presence {
		case policy.Absent:
		case policy.Unreadable:
			s.facts.Remains = append(s.facts.Remains, policy.Remains{Name: c.ref.String(), Blocked: "the controller is not allowed to read it"})
		default:
			s.facts.Remains = append(s.facts.Remains, policy.Remains{Name: c.ref.String(), Blocked: blockedBy(c.meta)})
		}
	}
	list, err := r.listPods(ctx, s.aw, live)
	if err != nil {
		return err
	}
	s.pods = list
	for _, pod := range list {
		s.facts.Remains = append(s.facts.Remains, policy.Remains{Name: podName(pod), Pod: true, Blocked: blockedBy(pod)})
	}
	return nil
}

// isGone reports whether the component was deleted in this removal, rejected by the API server, or never announced. A creation that failed
// for any other reason may still have created an object.
func isGone(cs v1beta2.AppWrapperComponentStatus) bool {
	c := meta.FindStatusCondition(cs.Conditions, string(v1beta2.ResourcesDeployed))
	if c == nil || cs.Name == "" {
		return true
	}
	return c.Status == metav1.ConditionFalse && (c.Reason == v1beta2.ReasonComponentDeleted || c.Reason == v1beta2.ReasonComponentCreationRefused)
}

func podName(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return "Pod " + pod.Name
	}
	return fmt.Sprintf("Pod %s on %s", pod.Name, pod.Spec.NodeName)
}

// blockedBy names the finalizers that block the deletion of an object.
func blockedBy(object metav1.Object) string {
	if object.GetDeletionTimestamp() == nil || len(object.GetFinalizers()) == 0 {
		return ""
	}
	return "finalizer " + strings.Join(object.GetFinalizers(), ", ")
}
