//go:build e2e && e2e_all

package ladder

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	// health is the node label that Autopilot sets.
	health  = "autopilot.ibm.com/gpuhealth"
	name    = "train"
	workers = 8
	// budget is the maxRestarts of the JobSet. In TestTheLadder, the faults up to the restart that times out use all of
	// it.
	budget = 6
)

// run is the workload under test.
type run struct {
	*testing.T
	*framework.Environment
	ctx context.Context
	ns  string

	mu       sync.Mutex
	breaches []string
	over     bool // the workload may return its quota
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.show(context.Background())
		r.Fatal(err)
	}
}

// show logs the state of the workload after a failure.
func (r *run) show(ctx context.Context) {
	for _, args := range [][]string{{"status", name, "-o", "wide"}, {"timeline", name}} {
		text, err := r.Plugin(ctx, r.ns, args...)
		r.Logf("%s %v\n%s", args[0], err, text)
	}
	logs := []string{"logs", "-l", "jobset.sigs.k8s.io/jobset-name=" + name, "--all-containers", "--tail=15", "--prefix", "--timestamps"}
	out, _ := exec.CommandContext(ctx, "kubectl", append(logs, "--kubeconfig", r.Cluster.KubeconfigPath(), "-n", r.ns)...).CombinedOutput() // best effort: kubectl may be missing
	r.Logf("pods\n%s", out)
	for _, program := range []string{framework.Manager, framework.Orchestrator, framework.AppWrappers, framework.ElasticJobs, framework.Rescheduler} {
		out, _ := exec.CommandContext(ctx, "tail", "-n", "15", r.Cluster.ProgramLog(program)).CombinedOutput() // best effort
		r.Logf("%s\n%s", program, out)
	}
}

// newRun creates a namespace and a queue, but no workload.
func newRun(t *testing.T) *run {
	t.Helper()
	r := &run{T: t, Environment: shared, ctx: t.Context(), ns: suites.NewNamespace(t, k8s, "e2e-ladder-").NS}
	r.makeQueue()
	return r
}

// create creates the workload, and removes it at the end of the test.
func (r *run) create(aw *v1beta2.AppWrapper) {
	r.Helper()
	r.must(k8s.Create(r.ctx, aw))
	r.Cleanup(func() { r.remove(context.Background()) })
}

// begins returns once all workers of a new JobSet are training.
func begins(t *testing.T, o settings) *run {
	t.Helper()
	r := newRun(t)
	r.create(r.wrap(o, r.jobSet(o)))
	r.awaitReady()
	return r
}

// remove returns once the workload is gone.
func (r *run) remove(ctx context.Context) {
	r.Helper()
	r.must(client.IgnoreNotFound(k8s.Delete(ctx, &v1beta2.AppWrapper{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}})))
	r.must(framework.Until(ctx, "the AppWrapper is gone", func(ctx context.Context) error {
		err := k8s.Get(ctx, client.ObjectKey{Namespace: r.ns, Name: name}, &v1beta2.AppWrapper{})
		if err == nil {
			return fmt.Errorf("it still exists")
		}
		return client.IgnoreNotFound(err)
	}))
}

// makeQueue creates a queue with room for this workload only.
func (r *run) makeQueue() {
	r.Helper()
	suites.MakeQueue(r, k8s, suites.QueueOf(r.ns, suites.Quota{Resource: "cpu", Most: "1"}, suites.Quota{Resource: "memory", Most: "8Gi"},
		suites.Quota{Resource: gpu, Most: strconv.Itoa(workers)})...)
}

// watchQuota checks continuously that the workload holds its quota until it may return it.
func (r *run) watchQuota() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			held, err := r.quotaHeld(ctx)
			r.mu.Lock()
			if err == nil && !held && !r.over {
				r.breaches = append(r.breaches, time.Now().UTC().Format(time.TimeOnly)+": the workload holds no quota")
			}
			r.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() {
		cancel()
		<-done
		for _, breach := range r.breaches {
			r.Error(breach)
		}
	}
}

func (r *run) quotaHeld(ctx context.Context) (bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	list.SetKind("WorkloadList")
	if err := k8s.List(ctx, list, client.InNamespace(r.ns)); err != nil {
		return false, err
	}
	for i := range list.Items {
		is := map[string]bool{}
		conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
		for _, condition := range conditions {
			c := condition.(map[string]any)
			is[fmt.Sprint(c["type"])] = c["status"] == "True"
		}
		if is["QuotaReserved"] && !is["Finished"] {
			return true, nil
		}
	}
	return false, nil
}

func (r *run) get() *v1beta2.AppWrapper {
	r.Helper()
	aw := &v1beta2.AppWrapper{}
	r.must(k8s.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: name}, aw))
	return aw
}

// standing is the state of a workload that is training: its counts and its objects.
type standing struct {
	epoch, round, charged int64
	resets, evacuations   int32
	jobSet                string
	workers               map[string]framework.Worker
}

// awaitReady returns once all workers of the current JobSet are in sync, and the AppWrapper has observed that.
func (r *run) awaitReady() standing {
	r.Helper()
	var s standing
	r.must(framework.Until(r.ctx, "all workers train", func(ctx context.Context) (err error) {
		s, err = r.stands(ctx)
		return err
	}))
	return s
}

func (r *run) stands(ctx context.Context) (standing, error) {
	aw := &v1beta2.AppWrapper{}
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: r.ns, Name: name}, aw); err != nil {
		return standing{}, err
	}
	if aw.Status.Phase != v1beta2.Running || !meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.PodsReady)) {
		return standing{}, fmt.Errorf("the AppWrapper is %s: %+v", aw.Status.Phase, aw.Status.Conditions)
	}
	js, err := r.JobSet(ctx, r.ns, name)
	if err != nil {
		return standing{}, err
	}
	sum, err := r.Summary(ctx, string(js.UID))
	if err != nil {
		return standing{}, err
	}
	if sum.Phase != coordination.Running {
		return standing{}, fmt.Errorf("the group is %s, %d of %d joined", sum.Phase, sum.Joined, sum.Size)
	}
	there, err := r.Workers(ctx, r.ns, name)
	if err != nil {
		return standing{}, err
	}
	for id, w := range there {
		if !w.Ready {
			return standing{}, fmt.Errorf("worker %s is not ready", id)
		}
	}
	if len(there) != workers {
		return standing{}, fmt.Errorf("%d workers", len(there))
	}
	charged, err := strconv.ParseInt(js.Annotations[v1alpha2.InPlaceRestartsKey], 10, 64)
	return standing{
		epoch: sum.Generation, round: sum.Round, charged: charged, resets: aw.Status.Retries, evacuations: aw.Status.Evacuations,
		jobSet: string(js.UID), workers: there,
	}, err
}

// counts returns the counts as a string to compare.
func (s standing) counts() string {
	return fmt.Sprintf("epoch %d, %d charged, %d resets, %d evacuations", s.epoch, s.charged, s.resets, s.evacuations)
}

// awaitCounts returns once all workers are training again with these counts. It fails if the counts are higher a little
// later.
func (r *run) awaitCounts(want string) standing {
	r.Helper()
	var s standing
	r.must(framework.Until(r.ctx, "all train again with "+want, func(ctx context.Context) (err error) {
		if s, err = r.stands(ctx); err == nil && s.counts() != want {
			err = fmt.Errorf("it is %s", s.counts())
		}
		return err
	}))
	return s
}

// kept returns how many workers are still in the same pod, and how many in the same container.
func (s standing) kept(before standing) (pods, containers int) {
	for id, w := range s.workers {
		if before.workers[id].PodUID == w.PodUID {
			pods++
		}
		if before.workers[id].ContainerID == w.ContainerID {
			containers++
		}
	}
	return pods, containers
}

func (s standing) worker(n int) framework.Worker { return s.workers[framework.IDs(s.workers)[n]] }

// nodeOf returns a worker's node.
func (r *run) nodeOf(w framework.Worker) string {
	r.Helper()
	pod := &corev1.Pod{}
	r.must(k8s.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: w.Pod}, pod))
	return pod.Spec.NodeName
}

// changeNode patches a node.
func changeNode(ctx context.Context, name string, change func(*corev1.Node)) error {
	node := &corev1.Node{}
	if err := k8s.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	before := node.DeepCopy()
	change(node)
	return k8s.Patch(ctx, node, client.MergeFrom(before))
}
