package rescheduling

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
)

// roomFor is how long a measurement of a node's free resources is used. Replacements that return there in the meantime are subtracted.
const roomFor = time.Minute

// freeResources is what a node has free for pending pods.
type freeResources struct {
	free corev1.ResourceList
	at   time.Time
}

// findRoom returns an excluded node on which the pod would fit now, and the resources that it takes there; empty if there is none. The
// cache has no requests, so findRoom reads the pod, the node and its pods from the API server, at most once per roomFor and node.
func (r *Reconciler) findRoom(ctx context.Context, s *scope, hosts []string) (host string, requests corev1.ResourceList, err error) {
	free := placement.WithoutExclusions(s.pod, hosts)
	for _, host := range hosts {
		var node corev1.Node
		if err := r.Client.Get(ctx, client.ObjectKey{Name: host}, &node); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			return "", nil, fmt.Errorf("reading node %s: %w", host, err)
		}
		if !placement.Fits(free, &node) {
			continue
		}
		if requests == nil {
			var pod corev1.Pod
			if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.pod), &pod); err != nil {
				return "", nil, client.IgnoreNotFound(err)
			}
			requests = requestsOf(&pod)
		}
		if fits, err := r.hasRoom(ctx, host, requests, s.now); err != nil || fits {
			return host, requests, err
		}
	}
	return "", nil, nil
}

// requestsOf returns the requests of a pod, and one of the resource pods, which nodes limit too.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	requests[corev1.ResourcePods] = resource.MustParse("1")
	return requests
}

func (r *Reconciler) hasRoom(ctx context.Context, host string, requests corev1.ResourceList, now time.Time) (bool, error) {
	r.roomsMu.Lock()
	defer r.roomsMu.Unlock()
	maps.DeleteFunc(r.rooms, func(_ string, known freeResources) bool { return now.Sub(known.at) >= roomFor })
	known, found := r.rooms[host]
	if !found {
		free, err := r.freeOn(ctx, host)
		if err != nil {
			return false, err
		}
		known = freeResources{free: free, at: now}
		r.rooms[host] = known
	}
	for name, quantity := range requests {
		if left := known.free[name]; !quantity.IsZero() && left.Cmp(quantity) < 0 {
			return false, nil
		}
	}
	return true, nil
}

// occupy reserves resources on a node for the replacement of a pod.
func (r *Reconciler) occupy(host string, requests corev1.ResourceList) {
	r.roomsMu.Lock()
	defer r.roomsMu.Unlock()
	subtract(r.rooms[host].free, requests)
}

// freeOn returns the allocatable resources of a node minus the requests of its pods.
func (r *Reconciler) freeOn(ctx context.Context, host string) (corev1.ResourceList, error) {
	var node corev1.Node
	if err := r.Live.Get(ctx, client.ObjectKey{Name: host}, &node); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.MatchingFields{"spec.nodeName": host}); err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", host, err)
	}
	free := node.Status.Allocatable.DeepCopy()
	for i := range pods.Items {
		if !ended(&pods.Items[i]) {
			subtract(free, requestsOf(&pods.Items[i]))
		}
	}
	return free, nil
}

func subtract(from, requests corev1.ResourceList) {
	for name, quantity := range requests {
		if left, found := from[name]; found {
			left.Sub(quantity)
			from[name] = left
		}
	}
}
