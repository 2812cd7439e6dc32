package jobset

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// sizes lists the numbers of Jobs to measure. The cost of a reconcile must grow linearly with them.
var sizes = []int{10, 100, 1000, 5000}

// BenchmarkReconcile measures one reconcile of a JobSet: with nothing to do, and with something to do for each Job. At
// the end, it prints each cost per Job relative to the smallest size.
func BenchmarkReconcile(b *testing.B) {
	for _, pass := range []struct {
		name string
		of   func(*memory)
	}{
		{"nothing", func(*memory) {}},
		{"create", func(m *memory) { m.jobs = nil }},
		{"suspend", func(m *memory) { m.jobSet.Spec.Suspend = new(true) }},
		{"resume", suspendAll},
		{"restart", func(m *memory) { m.jobSet.Status.Restarts++ }},
	} {
		var table growth
		b.Run(pass.name, func(b *testing.B) {
			for _, size := range sizes {
				b.Run(fmt.Sprintf("jobs=%d", size), func(b *testing.B) {
					m := running(size)
					pass.of(m)
					table.add(size, measure(b, m, size))
				})
			}
		})
		table.print(pass.name)
	}
}

// cost is the cost of one reconcile, per Job.
type cost struct{ nanoseconds, allocations, bytes float64 }

func measure(b *testing.B, m *memory, jobs int) cost {
	r := New(Options{Client: m, Live: m, Recorder: silence{}})
	b.ReportAllocs()
	before := readMemory()
	for b.Loop() {
		r.notBefore = newNotBefore(r.Clock) // a reconcile with writes delays the next one
		if _, err := r.Reconcile(b.Context(), m.jobSet.DeepCopy()); err != nil {
			b.Fatal(err)
		}
	}
	after := readMemory()
	all := float64(b.N) * float64(jobs)
	c := cost{
		nanoseconds: float64(b.Elapsed().Nanoseconds()) / all,
		allocations: float64(after.allocations-before.allocations) / all,
		bytes:       float64(after.bytes-before.bytes) / all,
	}
	b.ReportMetric(c.nanoseconds, "ns/job")
	b.ReportMetric(c.allocations, "allocs/job")
	b.ReportMetric(c.bytes, "B/job")
	return c
}

// memoryUse is the memory use of the process so far.
type memoryUse struct{ allocations, bytes uint64 }

func readMemory() memoryUse {
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return memoryUse{allocations: stats.Mallocs, bytes: stats.TotalAlloc}
}

// growth shows how the costs per Job grow with the number of Jobs.
type growth struct {
	rows  []cost
	sizes []int
}

// add keeps only the last measurement of a size, because a benchmark may run more than once.
func (g *growth) add(size int, c cost) {
	if n := len(g.sizes); n > 0 && g.sizes[n-1] == size {
		g.rows[n-1] = c
		return
	}
	g.sizes, g.rows = append(g.sizes, size), append(g.rows, c)
}

func (g *growth) print(name string) {
	if len(g.rows) == 0 {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n| %s | ns for one Job | x | allocations for one Job | x | bytes for one Job |\n|---|---|---|---|---|---|\n", name)
	first := g.rows[0]
	for i, c := range g.rows {
		fmt.Fprintf(&text, "| %d Jobs | %.0f | %.2f | %.2f | %.2f | %.0f |\n", g.sizes[i], c.nanoseconds, c.nanoseconds/first.nanoseconds,
			c.allocations, c.allocations/first.allocations, c.bytes)
	}
	fmt.Println(text.String()) // the log of a benchmark with sub-benchmarks is not shown
}

// memory simulates a cache and an API server at almost no cost. It keeps its state, so that each reconcile does the
// same work.
type memory struct {
	client.Client // methods that are not overridden below are not called

	jobSet   *v1alpha2.JobSet
	jobs     []*batchv1.Job
	service  *corev1.Service
	writes   int // number of status writes
	jobCalls atomic.Int32
	refuses  error // error returned by writes to Jobs and Services
}

// running returns a JobSet with the given number of Jobs, all of them ready, and the corresponding status.
func running(size int) *memory {
	js := MakeJobSet("a").Workers(int32(size)).MaxRestarts(3).Obj()
	m := &memory{jobSet: js, service: plan.Service(js)}
	builder := plan.NewBuilder(js, epoch.First())
	for i := range size {
		job := builder.Job(0, i)
		job.UID = types.UID(fmt.Sprintf("job-%d", i))
		job.Status = batchv1.JobStatus{Active: 1, Ready: new(int32(1))}
		m.jobs = append(m.jobs, stripJob(job))
	}
	s, err := New(Options{Client: m}).observe(context.Background(), js)
	if err != nil {
		panic(err)
	}
	js.Status = *s.status()
	return m
}

// suspendAll suspends the Jobs but not the JobSet. Their template differs from the desired one.
func suspendAll(m *memory) {
	for _, job := range m.jobs {
		job.Spec.Suspend, job.Status = new(true), batchv1.JobStatus{}
	}
	m.jobSet.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "b"}
}

// List returns all Jobs in the same way as the cache: the structs are copied, but their pointers are shared.
func (m *memory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	jobs := list.(*batchv1.JobList)
	jobs.Items = make([]batchv1.Job, len(m.jobs))
	for i, job := range m.jobs {
		jobs.Items[i] = *job
	}
	return nil
}

// Get returns the Service. No Jobs of other owners exist.
func (m *memory) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if service, is := object.(*corev1.Service); is {
		*service = *m.service
	}
	return nil
}

func (m *memory) Create(context.Context, client.Object, ...client.CreateOption) error {
	m.jobCalls.Add(1)
	return m.refuses
}

func (m *memory) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	m.jobCalls.Add(1)
	return m.refuses
}

func (m *memory) Status() client.SubResourceWriter { return memoryStatus{memory: m} }

// Patch computes the content of the patch, as a client does before sending it.
func (m *memory) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	m.jobCalls.Add(1)
	_, err := patch.Data(object)
	return errors.Join(err, m.refuses)
}

type memoryStatus struct {
	client.SubResourceWriter
	memory *memory
}

func (s memoryStatus) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	s.memory.writes++
	return nil
}

type silence struct{}

func (silence) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
