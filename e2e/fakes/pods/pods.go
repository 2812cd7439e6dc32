// Package pods creates nodes without a kubelet, and creates pods of Jobs on them whose status is set to running. Benchmarks use it to
// measure controllers with more pods than the Job controller, the scheduler and simulated kubelets could start in a short time.
package pods

import (
	"context"
	"fmt"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// perNode is the number of pods on each node.
const perNode = 100

// CreateNodes creates the nodes for the given number of pods, unless they exist.
func CreateNodes(ctx context.Context, c client.Client, pods int) error {
	for number := 0; number <= pods; number += perNode {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(number)}}
		err := c.Create(ctx, node)
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return err
		}
		before := node.DeepCopy()
		node.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}
		if err := c.Status().Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}

// nodeOf returns a pod's node, given the pod's number among all pods.
func nodeOf(number int) string { return fmt.Sprintf("simulated-%04d", number/perNode) }

// Run creates the pod with the given index of a Job and sets its status to running, as the Job controller, the scheduler and a kubelet
// would. number is its number among all pods, from 0.
func Run(ctx context.Context, c client.Client, job *batchv1.Job, index, number int) (*corev1.Pod, error) {
	completion := map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index)}
	labels, annotations := map[string]string{batchv1.JobNameLabel: job.Name}, map[string]string{}
	maps.Copy(labels, job.Spec.Template.Labels)
	maps.Copy(annotations, job.Spec.Template.Annotations)
	maps.Copy(labels, completion)
	maps.Copy(annotations, completion)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", job.Name, index), Namespace: job.Namespace, Labels: labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: *job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = nodeOf(number)
	if err := c.Create(ctx, pod); err != nil {
		return nil, err
	}
	pod.Status = running(pod)
	return pod, c.Status().Update(ctx, pod)
}

// running returns the status of a pod whose containers are running and ready.
func running(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "10.1.2.3", PodIP: "10.2.3.4", PodIPs: []corev1.PodIP{{IP: "10.2.3.4"}}, StartTime: &now}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Ready: true, Started: ptr.To(true), Image: container.Image, ImageID: "sha256:" + strings.Repeat("0", 64),
			ContainerID: "containerd://" + strings.Repeat("0", 64), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return status
}
