//go:build e2e && e2e_all

package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

const (
	size      = 6
	namespace = "e2e-soak"
	memory    = "96Mi" // of a worker's container
)

// soak is one JobSet with random failures.
type soak struct {
	*testing.T
	js     *v1alpha2.JobSet
	random *rand.Rand
	kills  int      // of the orchestrator
	counts counters // what the orchestrators have counted since the start

	mu      sync.Mutex
	history map[history.Attempt]history.Entry // everything that was ever in the annotation
}

// TestSoak runs for the duration set by HOLDFAST_SOAK. At the end every worker runs, and the restart count of the
// JobSet, its history, the store's records and the metrics agree.
func TestSoak(t *testing.T) {
	seed := setting(t, "HOLDFAST_SOAK_SEED", strconv.FormatInt(time.Now().UnixNano(), 10), func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
	period := setting(t, "HOLDFAST_SOAK", "5m", time.ParseDuration)
	t.Logf("%s of faults, HOLDFAST_SOAK_SEED=%d", period, seed)
	k := start(t, seed)
	stop := k.followHistory()
	struck := k.strikeFor(period)
	k.awaitRest()
	stop()
	for _, name := range slices.Sorted(keys(struck)) {
		t.Logf("%3d times %s", struck[name], name)
	}
	k.report()
	k.agree()
}

func setting[T any](t *testing.T, name, otherwise string, parse func(string) (T, error)) T {
	t.Helper()
	v, err := parse(cmp.Or(os.Getenv(name), otherwise))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func keys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func start(t *testing.T, seed uint64) *soak {
	t.Helper()
	k := &soak{T: t, random: rand.New(rand.NewPCG(seed, 1)), counts: counters{}, history: map[history.Attempt]history.Entry{}}
	k.must(shared.Namespace(t.Context(), namespace))
	js, err := shared.Load(namespace, shared.File("examples", "one-annotation.yaml"))
	k.must(err)
	js.Annotations[v1alpha2.ProgressTimeoutKey] = "3s"
	js.Annotations[v1alpha2.ProgressStartTimeoutKey] = "20s" // for a worker that is stopped before its first step
	js.Annotations[v1alpha2.InPlaceTimeoutKey] = "40s"
	js.Annotations[v1alpha2.MaxRestartDelayKey] = "0s"
	js.Spec.FailurePolicy.MaxRestarts = 100_000
	spec := &js.Spec.ReplicatedJobs[0].Template.Spec
	spec.Parallelism, spec.Completions = ptr.To[int32](size), ptr.To[int32](size)
	spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](2)
	spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	k.must(shared.Remove(t.Context(), namespace, js.Name))
	k.must(shared.Client.Create(t.Context(), js))
	k.js = js
	t.Cleanup(func() {
		if err := shared.Remove(context.Background(), namespace, js.Name); err != nil {
			t.Error(err)
		}
	})
	_, err = shared.AwaitWorkers(t.Context(), namespace, js.Name, size)
	k.must(err)
	_, err = shared.AwaitPhase(t.Context(), js, coordination.Running, 1, 0)
	k.must(err)
	k.must(k.counted(-1)) // excludes other JobSets
	return k
}

func (k *soak) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// strikeFor causes a failure every few seconds, even while earlier ones are being handled. Each kind of fault occurs
// once before faults are chosen at random.
func (k *soak) strikeFor(period time.Duration) map[string]int {
	k.Helper()
	struck := map[string]int{}
	due := k.random.Perm(len(faults))
	for end := time.Now().Add(period); time.Now().Before(end); time.Sleep(time.Second + time.Duration(k.random.Int64N(int64(5*time.Second)))) {
		f := k.draw()
		if len(due) > 0 {
			f = faults[due[0]]
		}
		switch err := f.strike(k); {
		case err == nil:
			struck[f.name]++
			due = due[min(1, len(due)):]
		case !errors.Is(err, errNobody):
			k.Fatalf("%s: %v", f.name, err)
		}
	}
	if len(due) > 0 {
		k.Errorf("%d of %d kinds of faults did not happen; increase HOLDFAST_SOAK", len(due), len(faults))
	}
	return struck
}

func (k *soak) draw() fault {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	at := k.random.IntN(total)
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	panic("weights add up to less than their sum")
}

func (k *soak) victim() (framework.Worker, error) {
	workers, err := shared.Workers(k.Context(), namespace, k.js.Name)
	if err != nil {
		return framework.Worker{}, err
	}
	ids := framework.IDs(workers)
	if len(ids) == 0 {
		return framework.Worker{}, errNobody
	}
	return workers[ids[k.random.IntN(len(ids))]], nil
}

// followHistory saves the entries of the history before they are dropped from the annotation.
func (k *soak) followHistory() (stop func()) {
	ctx, cancel := context.WithCancel(k.Context())
	var following sync.WaitGroup
	following.Go(func() {
		for ctx.Err() == nil {
			k.noteHistory(ctx)
			time.Sleep(200 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		following.Wait()
		k.noteHistory(k.Context())
	}
}

func (k *soak) noteHistory(ctx context.Context) {
	list, err := shared.RestartHistory(ctx, k.js)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			k.Logf("reading the history failed: %v", err)
		}
		return
	}
	for i, e := range list {
		if i > 0 && !e.After(list[i-1].Attempt) {
			k.Errorf("%+v follows %+v", e, list[i-1])
		}
		if was, known := k.history[e.Attempt]; known && was != e {
			k.Errorf("%+v has become %+v", was, e)
		}
		k.history[e.Attempt] = e
	}
}

// awaitRest returns once every worker runs and the last restart is recorded.
func (k *soak) awaitRest() {
	k.Helper()
	k.must(framework.Until(k.Context(), "the group is at rest", func(ctx context.Context) error {
		workers, err := shared.Workers(ctx, namespace, k.js.Name)
		if err != nil {
			return err
		}
		sum, err := shared.Summary(ctx, string(k.js.UID))
		if err != nil {
			return err
		}
		if sum.Phase != coordination.Running || sum.Joined != size {
			return fmt.Errorf("it is %s at %d of generation %d, %d joined", sum.Phase, sum.Round, sum.Generation, sum.Joined)
		}
		for _, w := range workers {
			if _, err := shared.Program(ctx, w); err != nil || !w.Ready {
				return fmt.Errorf("worker %s does not run: ready %t, %v", w.ID, w.Ready, err)
			}
		}
		return k.accounted(ctx, sum)
	}))
}

// accounted returns an error until the newest restart is in the history.
func (k *soak) accounted(ctx context.Context, sum framework.Summary) error {
	list, err := shared.RestartHistory(ctx, k.js)
	if err != nil {
		return err
	}
	want := history.Attempt{Epoch: sum.Generation, Round: sum.Round}
	if len(list) == 0 || list[len(list)-1].Attempt != want {
		return fmt.Errorf("the history ends before restart %d.%d: %v", want.Epoch, want.Round, list[max(0, len(list)-1):])
	}
	return nil
}

// report logs the total outage and the number of restarts by cause.
func (k *soak) report() {
	var lost time.Duration
	byCause := map[string]int{}
	for _, e := range k.history {
		lost += e.Lost()
		byCause[e.Kind+" for "+e.Cause.Kind]++
	}
	k.Logf("%d restarts, %s lost: %v", len(k.history), lost.Round(time.Millisecond), byCause)
}

// agree checks that all counts of restarts agree.
func (k *soak) agree() {
	js, err := shared.JobSet(k.Context(), namespace, k.js.Name)
	k.must(err)
	now, err := epoch.Of(js.Annotations)
	k.must(err)
	sum, err := shared.Summary(k.Context(), string(k.js.UID))
	k.must(err)
	charged := 0
	for _, e := range k.history {
		if e.Counted {
			charged++
		}
	}
	if got := js.Annotations[v1alpha2.InPlaceRestartsKey]; got != strconv.Itoa(charged) {
		k.Errorf("%s is %q, the history has %d restarts that count", v1alpha2.InPlaceRestartsKey, got, charged)
	}
	if int64(now.Epoch) != sum.Generation || int64(now.Base)+sum.Round != int64(charged) {
		k.Errorf("the store is at %d of generation %d, the JobSet at %+v, and %d were charged", sum.Round, sum.Generation, now, charged)
	}
	k.compareShown(js)
	k.compareRecords()
	k.compareCounters()
	k.comparePods()
	k.comparePrograms(now)
}

// compareShown checks that the JobSet shows no problem.
func (k *soak) compareShown(js *v1alpha2.JobSet) {
	if text, found := js.Annotations[recovering.Annotation]; found {
		k.Errorf("the JobSet is marked as recovering: %s", text)
	}
	if !meta.IsStatusConditionTrue(js.Status.Conditions, "InPlaceInSync") {
		k.Errorf("the JobSet is not in sync: %+v", js.Status.Conditions)
	}
	if js.Status.TerminalState != "" {
		k.Errorf("the JobSet is %s", js.Status.TerminalState)
	}
}

// compareRecords checks that each record in the store is in the history.
func (k *soak) compareRecords() {
	records, err := shared.Records(k.Context(), string(k.js.UID))
	k.must(err)
	for _, r := range records {
		e, known := k.history[history.Attempt{Epoch: r.Generation, Round: r.Round}]
		switch {
		case r.Round == 0:
		case !known:
			k.Errorf("restart %d.%d is in the store but not in the history: %+v", r.Generation, r.Round, r)
		case r.InSyncAt > 0 && e.FailedAt.Add(e.Lost()).UnixMilli() < r.InSyncAt:
			k.Errorf("%+v ends before the group was in sync, at %d", e, r.InSyncAt)
		}
	}
}
