//go:build e2e

package docs

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ofCharts are the labels of the charts' objects, including pods.
var ofCharts = client.MatchingLabels{"app.kubernetes.io/part-of": "holdfast"}

// settled returns an error until all Deployments and StatefulSets of the charts are rolled out, and all of their pods
// are ready and none is terminating. The commands of a page expect a settled installation, but the previous page may
// have ended with an upgrade or a removal.
func settled(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	if err := shared.Client.List(ctx, &deployments, ofCharts); err != nil {
		return err
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		want, has := *d.Spec.Replicas, d.Status
		if has.ObservedGeneration < d.Generation || has.UpdatedReplicas != want || has.AvailableReplicas != want || has.Replicas != want {
			return fmt.Errorf("deployment %s is not rolled out: %+v", d.Name, has)
		}
	}
	var sets appsv1.StatefulSetList
	if err := shared.Client.List(ctx, &sets, ofCharts); err != nil {
		return err
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		want, has := *s.Spec.Replicas, s.Status
		if has.ObservedGeneration < s.Generation || has.UpdateRevision != has.CurrentRevision || has.ReadyReplicas != want || has.Replicas != want {
			return fmt.Errorf("stateful set %s is not rolled out: %+v", s.Name, has)
		}
	}
	var pods corev1.PodList
	if err := shared.Client.List(ctx, &pods, ofCharts); err != nil {
		return err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp != nil || !ready(pod) {
			return fmt.Errorf("pod %s is %s: %+v", pod.Name, pod.Status.Phase, pod.Status.Conditions)
		}
	}
	return nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
