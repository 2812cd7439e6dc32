package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	leaseNamespace = corev1.NamespaceNodeLease
	leaseSeconds   = 40
)

// lease returns the lease of a node, which is deleted with the node.
func lease(node *corev1.Node, now time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Namespace: leaseNamespace, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       &node.Name,
			LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
			RenewTime:            &metav1.MicroTime{Time: now},
		},
	}
}

// beat renews all leases. It spreads the calls over the heartbeat period, so that bursts do not disturb measurements.
func (f *Nodes) beat(ctx context.Context) {
	if len(f.nodes) == 0 {
		return
	}
	ticker := time.NewTicker(f.options.Heartbeat / time.Duration(len(f.nodes)))
	defer ticker.Stop()
	for {
		for _, node := range f.nodes {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := f.renew(ctx, node, time.Now()); err != nil && ctx.Err() == nil {
				f.failed(fmt.Errorf("renewing the lease of %s: %w", node.Name, err))
			}
		}
	}
}

func (f *Nodes) renew(ctx context.Context, node *corev1.Node, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"renewTime": metav1.MicroTime{Time: now}}})
	if err != nil {
		return err
	}
	leases := f.client.CoordinationV1().Leases(leaseNamespace)
	_, err = leases.Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, lease(node, now), metav1.CreateOptions{})
	}
	return err
}
