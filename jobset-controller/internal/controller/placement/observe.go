package placement

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// jobIndex finds pods by the UID of the Job that controls them, because names are reused and anyone can set labels.
// With one of the suffixes, it finds only some of these pods. Otherwise, the webhook would read all pods of a Job for
// each of its pods: a million for a Job with a thousand pods.
const (
	jobIndex = "holdfast.job-uid"
	leading  = "/leading" // leaders that have a node
	placed   = "/placed"  // pods that have a node
)

// AddIndexes adds the indexes used by the reconciler and Domains.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &corev1.Pod{}, jobIndex, func(pod client.Object) []string {
		if job := requeue.Controller(pod, jobs); job != nil && exclusive.Topology(pod) != "" {
			return entries(string(job.UID), pod.(*corev1.Pod))
		}
		return nil
	})
}

func entries(job string, pod *corev1.Pod) []string {
	switch {
	case pod.Spec.NodeName == "":
		return []string{job}
	case exclusive.Leads(pod):
		return []string{job, job + placed, job + leading}
	}
	return []string{job, job + placed}
}

var jobs = batchv1.SchemeGroupVersion.WithKind("Job")

// Domains looks up the topology domains of pods in the cache.
type Domains struct{ Client client.Reader }

// LeaderIsOver reports whether the Job with this name and UID will get no more pods with index 0. It returns false if
// the Job is not in the cache yet.
func (d Domains) LeaderIsOver(ctx context.Context, job types.NamespacedName, uid types.UID) (bool, error) {
	var found batchv1.Job
	err := d.Client.Get(ctx, job, &found, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && found.UID != uid {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("getting job %s: %w", job.Name, err)
	}
	return exclusive.LeaderIsOver(&found), nil
}

// Of returns the topology domain of a Job's pods, or "" if none of them has a node yet.
func (d Domains) Of(ctx context.Context, job types.UID, topology string) (string, error) {
	for _, few := range []string{leading, placed} { // a leader with a node is the anchor, regardless of the other pods
		pods, err := d.pods(ctx, string(job)+few)
		if err != nil {
			return "", err
		}
		if anchor := exclusive.Anchor(pods); anchor != nil {
			return d.ofNode(ctx, anchor.Spec.NodeName, topology)
		}
	}
	return "", nil
}

// pods returns the pods in one entry of the index. They are shared with the cache and must not be modified.
func (d Domains) pods(ctx context.Context, entry string) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := d.Client.List(ctx, &list, client.MatchingFields{jobIndex: entry}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// ofNode returns the domain of a node, or "" if the node was deleted or lacks the label.
func (d Domains) ofNode(ctx context.Context, name, topology string) (string, error) {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	err := d.Client.Get(ctx, client.ObjectKey{Name: name}, node, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("getting node %s: %w", name, err)
	}
	return node.Labels[topology], nil
}
