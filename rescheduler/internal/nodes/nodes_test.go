package nodes

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// cluster counts the List calls for its nodes.
type cluster struct {
	client.Reader
	lists int
	err   error
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.lists++
	list.(*corev1.NodeList).Items = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
	return c.err
}

func TestNodesAreListedOncePerSecond(t *testing.T) {
	c, clock := &cluster{}, testclock.NewFakePassiveClock(noon)
	lister := NewLister(c, clock)
	for _, step := range []struct {
		at    time.Duration
		lists int
	}{{0, 1}, {0, 1}, {KeptFor - 1, 1}, {KeptFor, 2}, {KeptFor + 1, 2}, {0, 3}} { // finally, the clock is set back
		clock.SetTime(noon.Add(step.at))
		list, err := lister.List(t.Context())
		if err != nil || len(list.All) != 2 {
			t.Fatalf("got %v, %v", list, err)
		}
		if c.lists != step.lists {
			t.Errorf("%s after noon there were %d lists, not %d", step.at, c.lists, step.lists)
		}
	}
}

func TestFailedListIsNotCached(t *testing.T) {
	c := &cluster{err: errors.New("no")}
	lister := NewLister(c, testclock.NewFakePassiveClock(noon))
	if _, err := lister.List(t.Context()); !errors.Is(err, c.err) {
		t.Errorf("got %v", err)
	}
	c.err = nil
	if list, err := lister.List(t.Context()); err != nil || len(list.All) != 2 {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestNodesByName(t *testing.T) {
	list, err := NewLister(&cluster{}, testclock.NewFakePassiveClock(noon)).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if uid, exists := list.UID("a"); uid != "uid-a" || !exists {
		t.Errorf("a is %q, %v", uid, exists)
	}
	if _, exists := list.UID("c"); exists || list.Get("c") != nil {
		t.Error("node c is missing")
	}
}
