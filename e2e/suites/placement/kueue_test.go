//go:build e2e && e2e_all

package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

func queued(js *v1alpha2.JobSet) { js.Labels = map[string]string{v1alpha2.QueueNameLabel: queue} }

func inOrder(js *v1alpha2.JobSet) {
	queued(js)
	js.Spec.StartupPolicy = &v1alpha2.StartupPolicy{StartupPolicyOrder: v1alpha2.InOrder}
}

// The first quota is removed while the JobSet is suspended. The next admission is for other nodes with another label.
// The node selector of the first admission must not remain on the Jobs.
func TestAJobSetMovesToTheNodesOfItsNextAdmission(t *testing.T) {
	ns := namespace(t, "kueue-move")
	q := makeQueue(t, ns,
		flavor{"first", map[string]string{kubelet.PoolLabel: "racks-pool-1"}, "1"},
		flavor{"second", map[string]string{kubelet.NameLabel: "racks"}, "1"})
	create(t, ns, "train", queued, entry("w", 2, 1))
	names := []string{"train-w-0", "train-w-1"}
	await(t, "all are ready", ready(ns, "train", names...))
	base := map[string]string{kubelet.TypeLabel: kubelet.Type}
	selectors(t, ns, names, with(base, kubelet.PoolLabel, "racks-pool-1"))

	activate(t, ns, "train", false)
	await(t, "Kueue has released the quota", func(ctx context.Context) error {
		if all, err := jobs(ctx, ns, "train"); err != nil || !*all[names[0]].Spec.Suspend || all[names[1]].Status.Active > 0 {
			return fmt.Errorf("the Jobs are not suspended (%v)", err)
		}
		w, err := workload(ctx, ns, "JobSet", "train")
		if err == nil && condition(w, "QuotaReserved") == "True" {
			err = errors.New("it still has quota")
		}
		return err
	})
	q.setQuota(t, "first", "0")
	activate(t, ns, "train", true)
	await(t, "all are ready again", ready(ns, "train", names...))
	selectors(t, ns, names, with(base, kubelet.NameLabel, "racks"))
}

// As specified in KEP-672, the quota covers all stages. However, a stage that has not started yet does not keep the
// JobSet from being ready.
func TestAJobSetIsReadyWhileItsNextStageWaits(t *testing.T) {
	ns := namespace(t, "kueue-stages")
	makeQueue(t, ns, flavor{"stages", nil, "2"})
	create(t, ns, "train", queued, entry("init", 1, 1), entry("w", 2, 1, v1alpha2.DependsOn{Name: "init", Status: v1alpha2.DependencyComplete}))
	await(t, "the first stage runs", ready(ns, "train", "train-init-0"))
	await(t, "Kueue reports it as ready", func(ctx context.Context) error {
		w, err := workload(ctx, ns, "JobSet", "train")
		if err == nil && condition(w, "PodsReady") != "True" {
			err = fmt.Errorf("PodsReady is %q", condition(w, "PodsReady"))
		}
		return err
	})
	w, err := workload(t.Context(), ns, "JobSet", "train")
	if err != nil {
		t.Fatal(err)
	}
	if got := admittedPods(w); got != 3 {
		t.Errorf("quota for %d pods, want that of all stages: 3", got)
	}
	succeed(t, ns, "train-init-0")
	await(t, "the second stage runs", ready(ns, "train", "train-init-0", "train-w-0", "train-w-1"))
}

// The quota suffices for the larger stage, but not for both. As a whole, the JobSet would never be admitted.
func TestEachStageRequestsItsOwnQuota(t *testing.T) {
	ns := namespace(t, "kueue-each")
	makeQueue(t, ns, flavor{"each", nil, "1"})
	create(t, ns, "train", func(js *v1alpha2.JobSet) { js.Annotations = map[string]string{v1alpha2.StageQueueKey: queue} },
		entry("init", 1, 2), entry("w", 2, 1, v1alpha2.DependsOn{Name: "init", Status: v1alpha2.DependencyComplete}))
	await(t, "the first stage runs", ready(ns, "train", "train-init-0"))
	if _, err := workload(t.Context(), ns, "JobSet", "train"); err == nil {
		t.Error("the JobSet is queued as a whole too")
	}
	succeed(t, ns, "train-init-0")
	await(t, "the second stage runs", ready(ns, "train", "train-init-0", "train-w-0", "train-w-1"))

	patch := func(suspend bool) {
		t.Helper()
		js := &v1alpha2.JobSet{}
		js.Namespace, js.Name = ns, "train"
		if err := shared.Client.Patch(t.Context(), js, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend))); err != nil {
			t.Fatal(err)
		}
	}
	patch(true)
	await(t, "its quota is free", func(ctx context.Context) error {
		for _, job := range []string{"train-w-0", "train-w-1"} {
			if _, err := workload(ctx, ns, "Job", job); err == nil {
				return fmt.Errorf("%s is still queued", job)
			}
		}
		return nil
	})
	patch(false)
	await(t, "the second stage runs again", ready(ns, "train", "train-init-0", "train-w-0", "train-w-1"))
}

// An ordered start also works in a queue.
func TestAnOrderedStartUnderKueue(t *testing.T) {
	ns := namespace(t, "kueue-order")
	makeQueue(t, ns, flavor{"order", nil, "2"})
	create(t, ns, "train", inOrder, entry("driver", 1, 1), entry("w", 2, 1))
	await(t, "all are ready", ready(ns, "train", "train-driver-0", "train-w-0", "train-w-1"))
}

// withSpare requests restarts in place and a spare.
func withSpare(js *v1alpha2.JobSet) {
	js.Annotations = map[string]string{v1alpha2.InPlaceTimeoutKey: "1m", v1alpha2.SparesKey: "1"}
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.RestartPolicy = ""
}

// The quota suffices for the workers, but not for the spare. Kueue counts the spare as a workload of its own.
func TestASpareWaitsForItsOwnQuota(t *testing.T) {
	ns := namespace(t, "kueue-spares")
	q := makeQueue(t, ns, flavor{"spares", nil, "1"})
	create(t, ns, "train", func(js *v1alpha2.JobSet) {
		withSpare(js)
		js.Annotations[v1alpha2.StageQueueKey] = queue
	}, entry("w", 1, 2))
	await(t, "the spare waits for quota", func(ctx context.Context) error {
		w, err := workload(ctx, ns, "Job", "train-w-spares")
		if err == nil && condition(w, "QuotaReserved") != "False" {
			err = fmt.Errorf("QuotaReserved is %q", condition(w, "QuotaReserved"))
		}
		return err
	})
	all, err := jobs(t.Context(), ns, "train")
	if err != nil {
		t.Fatal(err)
	}
	if workers, spares := all["train-w-0"], all["train-w-spares"]; *workers.Spec.Suspend || !*spares.Spec.Suspend || spares.Status.Active > 0 {
		t.Errorf("the workers' Job is suspended: %t, that of the spare: %t with %d pods", *workers.Spec.Suspend, *spares.Spec.Suspend, spares.Status.Active)
	}
	q.setQuota(t, "spares", "1500m")
	await(t, "the spare runs", ready(ns, "train", "train-w-0", "train-w-spares"))
	w, err := workload(t.Context(), ns, "Job", "train-w-spares")
	if err != nil {
		t.Fatal(err)
	}
	if got := admittedPods(w); got != 1 {
		t.Errorf("quota for %d spares, want 1", got)
	}
}

// If Kueue queues a JobSet as a whole, it counts only the pods in spec.replicatedJobs. With a default LocalQueue, this applies to each JobSet.
func TestSparesOfAQueuedJobSetAreRefused(t *testing.T) {
	ns := namespace(t, "kueue-refused")
	makeQueue(t, ns, flavor{"refused", nil, "1"})
	unlabeled := kueueObject("LocalQueue", ns, "default", map[string]any{"clusterQueue": ns})
	if err := shared.Client.Create(t.Context(), unlabeled); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeObject(t, unlabeled) })
	for name, change := range map[string]func(*v1alpha2.JobSet){
		"in a queue":               func(js *v1alpha2.JobSet) { queued(js); withSpare(js) },
		"in the queue \"default\"": withSpare,
	} {
		js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: ns}, Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{entry("w", 1, 2)}}}
		change(js)
		await(t, "the JobSet "+name+" is refused", func(ctx context.Context) error {
			err := shared.Client.Create(ctx, js.DeepCopy(), client.DryRunAll)
			if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "metadata.annotations["+v1alpha2.SparesKey+"]: Forbidden: Kueue") {
				return nil
			}
			return fmt.Errorf("the response is %w", err)
		})
	}
}

// selectors fails unless the pods of the Jobs have exactly these labels as their node selector.
func selectors(t *testing.T, ns string, names []string, want map[string]string) {
	t.Helper()
	all, err := jobs(t.Context(), ns, "train")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if diff := cmp.Diff(want, all[name].Spec.Template.Spec.NodeSelector); diff != "" {
			t.Errorf("the selector of %s (-want +got):\n%s", name, diff)
		}
	}
}

func with(base map[string]string, key, value string) map[string]string {
	all := map[string]string{key: value}
	for k, v := range base {
		all[k] = v
	}
	return all
}
