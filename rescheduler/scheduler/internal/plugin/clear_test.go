package plugin

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
)

func TestPatchTestsUIDAndValue(t *testing.T) {
	got := removal{pod: types.NamespacedName{Namespace: "default", Name: "pod"}, uid: "1", value: `["a"]`}.patch()
	want := `[{"op":"test","path":"/metadata/uid","value":"1"},` +
		`{"op":"test","path":"/metadata/annotations/sigs.k8s.io~1scheduledHosts","value":"[\"a\"]"},` +
		`{"op":"remove","path":"/metadata/annotations/sigs.k8s.io~1scheduledHosts"}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

type clearing struct {
	*handle
	client kubernetes.Interface
}

func (c clearing) ClientSet() kubernetes.Interface { return c.client }

func TestClearing(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, c := range map[string]struct {
		answers []error // responses from the API server, in order; the last one is repeated
		want    int     // calls
	}{
		"the annotation is removed":              {[]error{nil}, 1},
		"the API server is unreachable at first": {[]error{errors.New("refused"), errors.New("refused"), nil}, 3},
		"the pod is gone":                        {[]error{apierrors.NewNotFound(pods, "pod")}, 1},
		"the annotation has changed":             {[]error{apierrors.NewInvalid(schema.GroupKind{}, "pod", nil)}, 1},
		"the scheduler lacks permission":         {[]error{apierrors.NewForbidden(pods, "pod", errors.New("no"))}, 1},
		"the API server stays unreachable":       {[]error{errors.New("refused")}, attempts + 1},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			var calls int
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				err := c.answers[min(calls, len(c.answers)-1)]
				calls++
				return true, &corev1.Pod{}, err
			})
			h := &handle{}
			limiter := workqueue.NewTypedItemFastSlowRateLimiter[removal](time.Nanosecond, time.Nanosecond, 0)
			cl := &clearer{handle: clearing{h, client}, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
			cl.remove(makePod("pod", `["a"]`), `["a"]`)
			for len(h.activated) == 0 {
				cl.next(context.Background())
			}
			if calls != c.want {
				t.Errorf("%d calls", calls)
			}
			if cl.queue.Len() > 0 {
				t.Error("the removal is still queued")
			}
		})
	}
}
