//go:build e2e && e2e_all

package ladder

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// quiet is how long a state must last: several times the AppWrapper's grace period for failures.
const quiet = 5 * time.Second

// TestAnElasticJobContinuesWithFewerWorkers loses one worker after another. As long as two of the four workers remain, this does not count as a
// failure of the AppWrapper around them.
func TestAnElasticJobContinuesWithFewerWorkers(t *testing.T) {
	r := newRun(t)
	const gone = 1 // exit code with which a worker is abandoned
	r.create(r.wrapElastic(settings{resets: 2}, r.elasticJob(v1alpha1.RestartExitCode, func(s *v1alpha1.ElasticJobSpec) {
		s.ReplicaSpecs.Worker.PermanentExitCodes = []int32{gone}
	})))
	first := r.awaitElastic(elasticWorkers, 0)
	stop := r.watchQuota()

	t.Log("3: a worker is deleted, and there is no room for another")
	r.must(offerGPUs(r.ctx, 0))
	defer func() { _ = offerGPUs(context.Background(), 8) }()
	r.must(k8s.Delete(r.ctx, r.elasticPod(3)))
	r.staysElastic(elasticWorkers-1, first)
	r.must(offerGPUs(r.ctx, 8))
	r.awaitElastic(elasticWorkers, 0)

	t.Log("3: workers are abandoned until the minimum is left")
	for left := elasticWorkers - 1; left >= elasticLeast; left-- {
		r.endElastic(left)
		r.staysElastic(left, first)
	}

	t.Log("6: fewer than the minimum are left")
	r.endElastic(elasticLeast - 1)
	again := r.awaitElastic(elasticWorkers, 1)
	stop()
	r.show(r.ctx)
	if again.UID == first.UID {
		t.Error("the ElasticJob was not recreated")
	}
	if aw := r.get(); len(aw.Status.Attempts) != 2 || aw.Status.Evacuations != 0 {
		t.Errorf("attempts are %+v, evacuations %d", aw.Status.Attempts, aw.Status.Evacuations)
	}
	// One deleted worker and three abandoned ones. The last of these left too few workers, which the next recovery
	// level handled.
	r.wantAnswers(map[int]int{3: 1 + elasticWorkers - elasticLeast + 1, 6: 1})
}

func (r *run) elastic(ctx context.Context) (*v1alpha1.ElasticJob, error) {
	job := &v1alpha1.ElasticJob{}
	return job, k8s.Get(ctx, client.ObjectKey{Namespace: r.ns, Name: name}, job)
}

func (r *run) elasticPod(index int) *corev1.Pod {
	r.Helper()
	pod := &corev1.Pod{}
	r.must(k8s.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: fmt.Sprintf("%s-worker-%d", name, index)}, pod))
	return pod
}

// endElastic makes a worker's program exit with code 1.
func (r *run) endElastic(index int) {
	r.Helper()
	_, err := r.SignalContainer(r.ctx, string(r.elasticPod(index).UID), "worker", unix.SIGUSR1)
	r.must(err)
}

// awaitElastic waits until the given number of workers runs after the given number of resets, and the AppWrapper is
// healthy.
func (r *run) awaitElastic(active int, resets int32) *v1alpha1.ElasticJob {
	r.Helper()
	var job *v1alpha1.ElasticJob
	r.must(framework.Until(r.ctx, fmt.Sprintf("%d workers run after %d resets", active, resets), func(ctx context.Context) (err error) {
		job, err = r.elasticWell(ctx, active, resets)
		return err
	}))
	return job
}

func (r *run) elasticWell(ctx context.Context, active int, resets int32) (*v1alpha1.ElasticJob, error) {
	aw := &v1beta2.AppWrapper{}
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: r.ns, Name: name}, aw); err != nil {
		return nil, err
	}
	if aw.Status.Retries != resets || aw.Status.Phase != v1beta2.Running || !meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.PodsReady)) || meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.Unhealthy)) {
		return nil, fmt.Errorf("the AppWrapper is %s after %d resets: %+v", aw.Status.Phase, aw.Status.Retries, aw.Status.Conditions)
	}
	job, err := r.elastic(ctx)
	if err == nil && int(job.Status.ReplicaStatuses.Worker.Active) != active {
		err = fmt.Errorf("%d workers run: %s", job.Status.ReplicaStatuses.Worker.Active, job.Status.Message)
	}
	return job, err
}

// staysElastic waits until the AppWrapper has been healthy for a while with the given number of workers of the same
// job.
func (r *run) staysElastic(active int, first *v1alpha1.ElasticJob) {
	r.Helper()
	if job := r.awaitElastic(active, 0); job.UID != first.UID {
		r.Fatal("the ElasticJob was recreated")
	}
	for end := time.Now().Add(quiet); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err := r.elasticWell(r.ctx, active, 0); err != nil {
			r.must(fmt.Errorf("with %d workers: %w", active, err))
		}
	}
}
