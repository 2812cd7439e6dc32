package plugin

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

type clearing struct {
	*handle
	client kubernetes.Interface
}

func (c clearing) ClientSet() kubernetes.Interface { return c.client }

// wantPatch changes nothing if the pod or the value of its annotation has been replaced.
const wantPatch = `[{"op":"test","path":"/metadata/uid","value":"pod"},` +
	`{"op":"test","path":"/metadata/annotations/sigs.k8s.io~1scheduledHosts","value":"[\"a\"]"},` +
	`{"op":"remove","path":"/metadata/annotations/sigs.k8s.io~1scheduledHosts"}]`

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
		"the API server stays unreachable":       {[]error{errors.New("refused")}, attempts},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			var calls int
			var patch string
			client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patch = string(action.(clienttesting.PatchAction).GetPatch())
				err := c.answers[min(calls, len(c.answers)-1)]
				calls++
				return true, &corev1.Pod{}, err
			})
			h := &handle{}
			p := newPlugin(clearing{h, client}, clock.RealClock{})
			p.firstRetry = 0
			p.clear(t.Context(), makePod("pod", `["a"]`), `["a"]`)
			if calls != c.want {
				t.Errorf("%d calls", calls)
			}
			if len(h.activated) != 1 {
				t.Errorf("activated: %v", h.activated)
			}
			if diff := cmp.Diff(wantPatch, patch); diff != "" {
				t.Error(diff)
			}
		})
	}
}
