package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// attempts is the maximum number of tries to remove one annotation, about ten seconds in total. The pod does not wait for it.
const attempts = 12

// clearer removes the annotations of relaxed pods outside of the scheduling cycle.
type clearer struct {
	handle fwk.Handle
	queue  workqueue.TypedRateLimitingInterface[removal]
}

// removal removes this value of the annotation from this pod.
type removal struct {
	pod   types.NamespacedName
	uid   types.UID
	value string
}

func newClearer(handle fwk.Handle) *clearer {
	return &clearer{handle: handle, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[removal]())}
}

func (c *clearer) start(ctx context.Context) {
	go func() {
		<-ctx.Done()
		c.queue.ShutDown()
	}()
	go func() {
		for c.next(ctx) {
		}
	}()
}

func (c *clearer) remove(pod *corev1.Pod, value string) {
	c.queue.Add(removal{pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, uid: pod.UID, value: value})
}

func (c *clearer) next(ctx context.Context) bool {
	r, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(r)
	err := c.patch(ctx, r)
	if retry(err) && c.queue.NumRequeues(r) < attempts {
		c.queue.AddRateLimited(r)
		return true
	}
	c.queue.Forget(r)
	c.report(ctx, r, err)
	return true
}

func (c *clearer) report(ctx context.Context, r removal, err error) {
	logger := klog.FromContext(ctx)
	result := resultOf(err)
	annotationsClear.WithLabelValues(string(result)).Inc()
	if result == failed {
		logger.Error(err, "Removing the annotation of a relaxed pod failed, ignoring it for now", "pod", klog.KRef(r.pod.Namespace, r.pod.Name))
	}
	// Activate skips the back-off of the pod.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.pod.Namespace, Name: r.pod.Name, UID: r.uid}}
	c.handle.Activate(logger, map[string]*corev1.Pod{r.pod.String(): pod})
}

// patch removes the annotation. It fails without a change if the pod or its annotation is another one by now.
func (c *clearer) patch(ctx context.Context, r removal) error {
	_, err := c.handle.ClientSet().CoreV1().Pods(r.pod.Namespace).Patch(ctx, r.pod.Name, types.JSONPatchType, r.patch(), metav1.PatchOptions{})
	return err
}

func (r removal) patch() []byte {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value,omitempty"`
	}
	path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(memory.HostsAnnotation)
	patch, err := json.Marshal([]operation{
		{Op: "test", Path: "/metadata/uid", Value: string(r.uid)},
		{Op: "test", Path: path, Value: r.value},
		{Op: "remove", Path: path},
	})
	if err != nil {
		panic(fmt.Sprintf("strings have no JSON: %v", err))
	}
	return patch
}

func retry(err error) bool {
	return err != nil && resultOf(err) == failed && !apierrors.IsForbidden(err)
}

func resultOf(err error) clearResult {
	switch {
	case err == nil:
		return removed
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsConflict(err):
		return changed
	default:
		return failed
	}
}
