package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

const namespace = "bench"

// result holds the measurements of one way to keep pods away from nodes.
type result struct {
	Way string
	// Singles are the seconds from a rejection until the replacement is assigned to a node, one pod at a time, in
	// order.
	Singles []float64
	// Rejections counts the rejections of all single pods. The minimum is one per pod.
	Rejections int
	// WaveSeconds is the time from the rejection of all pods until the last replacement is assigned to a node.
	// WaveRejections counts the rejected pods until then. WaveSeconds is 0 if not all replacements were assigned to a
	// node while they were watched.
	WaveSeconds    float64
	WaveRejections int
}

func measure(ctx context.Context, o options, c *cluster) ([]result, error) {
	// The rescheduler acts only in namespaces with this label.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"holdfast.dev/rescheduling": "enabled"}}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}
	if _, err := c.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	var results []result
	for _, way := range []struct{ name, scheduler string }{{"affinity", corev1.DefaultSchedulerName}, {"plugin", "holdfast-scheduler"}} {
		r := result{Way: way.name}
		for i := range o.samples {
			if err := c.single(ctx, fmt.Sprintf("%s-%d", way.name, i), way.scheduler, &r); err != nil {
				return nil, err
			}
		}
		if err := c.wave(ctx, way.name+"-wave", way.scheduler, o.pods, true, &r); err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	none := result{Way: "without"}
	if err := c.wave(ctx, "without-wave", corev1.DefaultSchedulerName, o.pods, false, &none); err != nil {
		return nil, err
	}
	return append(results, none), nil
}

// single creates a pod that is rejected immediately, and measures its replacement.
func (c *cluster) single(ctx context.Context, app, scheduler string, r *result) error {
	if err := c.create(ctx, app, scheduler, 1, true); err != nil {
		return err
	}
	if err := until(ctx, app+" runs on a good node", func() bool { _, bound := c.bad.times(app); return len(bound) > 0 }); err != nil {
		return err
	}
	rejected, bound := c.bad.times(app)
	r.Singles = append(r.Singles, bound[0].Sub(rejected[0]).Seconds())
	r.Rejections += len(rejected)
	fmt.Fprintf(os.Stderr, "%s: %.3f s, %d rejections\n", app, r.Singles[len(r.Singles)-1], len(rejected))
	return c.remove(ctx, app)
}

// watched is how long pods are watched if nothing keeps them away from the node.
const watched = 20 * time.Second

// wave creates pods that are all on the bad node when it starts to reject them, and measures their replacement.
func (c *cluster) wave(ctx context.Context, app, scheduler string, pods int, managed bool, r *result) error {
	c.bad.keep()
	if err := c.create(ctx, app, scheduler, int32(pods), managed); err != nil {
		return err
	}
	if err := until(ctx, "all are on the bad node", func() bool { return c.bad.holds() >= pods }); err != nil {
		return err
	}
	begin := c.bad.release()
	all := func() bool { _, bound := c.bad.times(app); return len(bound) >= pods }
	if managed {
		if err := until(ctx, "all run on good nodes", all); err != nil {
			return err
		}
	} else {
		for time.Since(begin) < watched && !all() && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
	rejected, bound := c.bad.times(app)
	r.WaveRejections = len(rejected)
	if len(bound) >= pods {
		r.WaveSeconds = slices.MaxFunc(bound[:pods], time.Time.Compare).Sub(begin).Seconds()
	}
	fmt.Fprintf(os.Stderr, "%s: %.3f s, %d rejections\n", app, r.WaveSeconds, r.WaveRejections)
	return c.remove(ctx, app)
}

// create creates a Deployment that prefers the bad node.
func (c *cluster) create(ctx context.Context, app, scheduler string, replicas int32, managed bool) error {
	labels := map[string]string{"app": app}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: namespace},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				SchedulerName: scheduler, TerminationGracePeriodSeconds: ptr.To[int64](0), Tolerations: []corev1.Toleration{kubelet.Toleration()},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
					Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "bench", Operator: corev1.NodeSelectorOpExists}}},
				}}}},
				Containers: []corev1.Container{{Name: "c", Image: "i"}},
			},
		}},
	}
	if managed {
		d.Annotations = map[string]string{"schedulingRetries": "3"}
	}
	_, err := c.client.AppsV1().Deployments(namespace).Create(ctx, d, metav1.CreateOptions{})
	return err
}

// remove deletes the Deployment and its pods, because no garbage collector runs here.
func (c *cluster) remove(ctx context.Context, app string) error {
	if err := c.client.AppsV1().Deployments(namespace).Delete(ctx, app, metav1.DeleteOptions{}); err != nil {
		return err
	}
	of := metav1.ListOptions{LabelSelector: "app=" + app}
	if err := c.client.AppsV1().ReplicaSets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, of); err != nil {
		return err
	}
	return until(ctx, "its pods are gone", func() bool {
		_ = c.client.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}, of)
		left, err := c.client.CoreV1().Pods(namespace).List(ctx, of)
		return err == nil && len(left.Items) == 0
	})
}
