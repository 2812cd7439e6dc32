package rescheduling

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// world is a Reconciler at noon with a fake API server. It tests what a real API server cannot reproduce: a stale cache, and
// operations that are interrupted.
type world struct {
	*testing.T
	*Reconciler
	heard heard
	known knows
}

// knows holds owners by UID.
type knows map[types.UID]*metav1.PartialObjectMetadata

func (k knows) Of(_ context.Context, pod metav1.Object) (owners.Chain, error) {
	if owner := k[owners.ControllerUID(pod)]; owner != nil {
		return owners.Chain{owner}, nil
	}
	return nil, nil
}

func newWorld(t *testing.T, config settings.Rescheduling, funcs interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	c := fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).WithInterceptorFuncs(funcs).
		WithIndex(&corev1.Pod{}, ownerIndex, indexByOwner).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	w := &world{T: t, heard: heard{}, known: knows{}}
	for _, o := range objects {
		if rc, ok := o.(*corev1.ReplicationController); ok {
			known := workload(rc.Name)
			w.ok(c.Get(t.Context(), client.ObjectKeyFromObject(rc), rc))
			known.ObjectMeta = *rc.ObjectMeta.DeepCopy()
			w.known[rc.UID] = known
		}
	}
	clock := testclock.NewFakePassiveClock(noon)
	w.Reconciler = New(Options{
		Client: c, Live: c, Nodes: nodes.NewLister(c, clock), Owners: w.known, Ledger: owners.NewLedger(), Recorder: w.heard, Registry: prometheus.NewRegistry(),
		Clock: clock, Config: config,
	})
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// of returns the scope of a workload's pod, with an empty failure history.
func (w *world) of(pod *corev1.Pod, workload *metav1.PartialObjectMetadata) *scope {
	s := &scope{pod: pod, chain: owners.Chain{workload}, subject: workload, retries: 3, annotated: true, now: noon}
	w.ownership.add(workload.UID, workload.UID)
	s.read()
	return s
}

// workload returns the owner of the pods that owned returns.
func workload(name string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ReplicationController"))
	return o
}

// stored returns the workload from the API server.
func stored(o *metav1.PartialObjectMetadata) client.Object {
	return &corev1.ReplicationController{ObjectMeta: *o.ObjectMeta.DeepCopy()}
}

// remembers returns the failure history of a workload from the API server.
func (w *world) remembers(o *metav1.PartialObjectMetadata) memory.Memory {
	w.Helper()
	var there corev1.ReplicationController
	w.ok(w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), &there))
	return memory.Read(there.Annotations)
}

func owned(by *metav1.PartialObjectMetadata) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(by, by.GroupVersionKind())}
	}
}

// avoiding returns the failure history of a workload that avoids a node for an hour.
func avoiding(node string) memory.Memory {
	return memory.Memory{Entries: []memory.Entry{{Node: node, Class: "c", Last: noon, Expires: noon.Add(time.Hour)}}}
}

func (w *world) node(name string) *corev1.Node {
	w.Helper()
	var node corev1.Node
	w.ok(w.Client.Get(w.Context(), client.ObjectKey{Name: name}, &node))
	return &node
}

func (w *world) pod(name string) (pod corev1.Pod, exists bool) {
	w.Helper()
	err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: "default", Name: name}, &pod)
	w.ok(client.IgnoreNotFound(err))
	return pod, err == nil
}

func ready(name string, changes ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, change := range changes {
		change(node)
	}
	return node
}

// matched returns a row of the catalogue that the pod has matched for an hour.
func matched(name string) signals.Match {
	for _, row := range signals.Default() {
		if row.Name == name {
			return signals.Match{Row: row, Reason: name, Since: noon.Add(-time.Hour), Down: true}
		}
	}
	panic("there is no row " + name)
}

func refuse(err error) interceptor.Funcs {
	return interceptor.Funcs{SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
		return err
	}}
}
