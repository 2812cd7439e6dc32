package owners

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server is a fake API server and a cache for objects of one kind.
type server struct {
	cache.Cache
	mayList bool
	lists   int
	started int
	asked   client.Object // for which an informer was last requested
	synced  bool
}

func (s *server) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	o.SetUID("uid")
	return nil
}

func (s *server) List(context.Context, client.ObjectList, ...client.ListOption) error {
	s.lists++
	if s.mayList {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "gadgets"}, "", nil)
}

func (s *server) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	s.started++
	s.asked = o
	return informer{server: s}, nil
}

// informer is an informer that has synced once server.synced is true.
type informer struct {
	cache.Informer
	server *server
}

func (i informer) HasSynced() bool { return i.server.synced }

// An informer without permission to list would retry forever and fill the log.
func TestForbiddenKindHasNoInformer(t *testing.T) {
	s, clock := &server{}, testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	r := NewResolver(s, s, clock, NewLedger())
	isController := true
	pod := &metav1.ObjectMeta{Namespace: "default", OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: "g", UID: "uid", Controller: &isController}}}
	for range 3 {
		if chain, err := r.Of(t.Context(), pod); err != nil || len(chain) != 0 {
			t.Fatalf("without permission, the owners are %v (%v)", chain, err)
		}
	}
	if s.started != 0 || s.lists != 1 {
		t.Errorf("%d informers, %d lists without permission", s.started, s.lists)
	}
	s.mayList = true
	clock.Step(closedFor + 1)
	for range 3 {
		if chain, err := r.Of(t.Context(), pod); err != nil || len(chain) != 1 || chain.Root().Name != "g" {
			t.Fatalf("the owners are %v (%v)", chain, err)
		}
	}
	if s.started != 1 || s.lists != 2 {
		t.Errorf("%d informers, %d lists with permission", s.started, s.lists)
	}
}

// A second informer for all pods would use more memory than everything else. Pods of a LeaderWorkerSet and of Spark have a pod as their
// owner.
func TestPodsThatOwnPodsAreReadFromTheSameCache(t *testing.T) {
	s := &server{mayList: true}
	r := NewResolver(s, s, testclock.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), NewLedger())
	isController := true
	pod := &metav1.ObjectMeta{Namespace: "default", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "driver", UID: "uid", Controller: &isController}}}
	for range 2 {
		chain, err := r.Of(t.Context(), pod)
		if err != nil || len(chain) != 1 || chain.Root().Name != "driver" || chain.Root().Kind != "Pod" {
			t.Fatalf("the owners are %v (%v)", chain, err)
		}
		s.synced = true
	}
	if _, typed := s.asked.(*corev1.Pod); !typed || s.started != 1 {
		t.Errorf("%d informers, the last for %T", s.started, s.asked)
	}
}
