package placement

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

// jobIndex finds pods by the UID of the Job that controls them: names and labels are used again, and anybody can write labels.
const jobIndex = "holdfast.job-uid"

// AddIndexes adds the indexes that the reconciler and Domains read by.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &corev1.Pod{}, jobIndex, func(pod client.Object) []string {
		if job := controllingJob(pod); job != nil && exclusive.Topology(pod) != "" {
			return []string{string(job.UID)}
		}
		return nil
	})
}

func controllingJob(pod client.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.APIVersion != "batch/v1" || owner.Kind != "Job" {
		return nil
	}
	return owner
}

// Domains reads from the cache where pods are.
type Domains struct{ Client client.Reader }

// Of gives the topology domain that the pods of a Job are in, "" if none has a node yet.
func (d Domains) Of(ctx context.Context, job types.UID, topology string) (string, error) {
	pods, err := d.pods(ctx, job)
	if err != nil {
		return "", err
	}
	anchor := exclusive.Anchor(pods)
	if anchor == nil {
		return "", nil
	}
	return d.ofNode(ctx, anchor.Spec.NodeName, topology)
}

// pods of a Job. They are shared with the cache and must not be changed.
func (d Domains) pods(ctx context.Context, job types.UID) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := d.Client.List(ctx, &list, client.MatchingFields{jobIndex: string(job)}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// ofNode is the domain of a node, "" if the node is gone or has no label of that name.
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
