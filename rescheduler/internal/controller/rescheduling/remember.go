package rescheduling

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
)

// DecisionAnnotation on a workload says what was decided last about one of its pods, and why. Its value is a Saying.
const DecisionAnnotation = "holdfast.dev/rescheduling-decision"

// Saying is the value of DecisionAnnotation.
type Saying struct {
	Time    string `json:"time"`
	Pod     string `json:"pod"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// remember writes what was learned, and why. It returns whether anything was written.
func (r *Reconciler) remember(ctx context.Context, s *scope, d *policy.Decision) (wrote bool, err error) {
	if !d.Learned || r.config.DryRun {
		return false, nil
	}
	want := d.Memory.Forget(s.now).Annotations(s.now)
	if s.bare() {
		want = bareAnnotations(d.Memory, s.now)
	}
	if same(s.subject.Annotations, want) {
		return false, nil
	}
	if d.Reason != policy.Moved { // that is said when it is done
		want[DecisionAnnotation] = saying(s, d)
	}
	return true, r.write(ctx, s, want)
}

// bareAnnotations: nobody admits a replacement of a bare pod, so that the seed's annotation of pods is for people.
func bareAnnotations(m memory.Memory, now time.Time) map[string]string {
	info := m.Info(now)
	return map[string]string{
		memory.PodAnnotation: memory.PodInfo{CurrentReschedulingTimes: info.CurrentReschedulingTimes, PodScheduledHosts: info.DeployScheduledHosts}.Format(),
		memory.Annotation:    m.Annotations(now)[memory.Annotation],
	}
}

func same(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return false
		}
	}
	return true
}

func saying(s *scope, d *policy.Decision) string {
	content, err := json.Marshal(Saying{s.now.UTC().Format(time.RFC3339), s.pod.Name, d.Reason, cut(d.Message, maxNote)})
	if err != nil {
		panic(err) // four strings
	}
	return string(content)
}

// write annotations of the subject, if nobody has written it since it was read.
func (r *Reconciler) write(ctx context.Context, s *scope, annotations map[string]string) error {
	before := s.subject
	after := before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	maps.Copy(after.Annotations, annotations)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, after, patch, fieldOwner); err != nil {
		return fmt.Errorf("writing the annotations of %s %s: %w", before.Kind, before.Name, err)
	}
	after.SetGroupVersionKind(before.GroupVersionKind())
	r.ledger.Wrote(after)
	s.subject = after
	s.read()
	return nil
}

// again retries what was done on a stale copy without a word.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: settle}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// ofTemplate begins anew when the pod has a template that the memory does not know. Templates of the other pods that live then share the
// new memory: a roll-out ends, but a partition, or one that is paused, keeps two side by side, and neither may make the other forget. A
// workload of several parts has several templates, of which none is that of the workload.
func (r *Reconciler) ofTemplate(ctx context.Context, s *scope) error {
	if !s.chain.OneTemplate(s.pod) {
		return nil
	}
	var living []string
	err := r.kin(ctx, s, func(pod *corev1.Pod) error {
		if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			living = append(living, owners.Template(pod))
		}
		return nil
	})
	s.memory = s.memory.For(owners.Template(s.pod), living...)
	return err
}

func isNoKind(err error) bool { return meta.IsNoMatchError(err) }
