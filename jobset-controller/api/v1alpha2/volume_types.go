package v1alpha2

import (
	corev1 "k8s.io/api/core/v1"
)

// VolumeClaimPolicy describes PersistentVolumeClaims that share one retention policy.
type VolumeClaimPolicy struct {
	// templates of the claims; each claim is named <template>-<jobset> and lives in the JobSet's namespace, so no template may
	// name another. At most 50.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.metadata) || !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)",message="namespace cannot be set for VolumeClaimPolicies templates"
	Templates []corev1.PersistentVolumeClaim `json:"templates,omitempty"`
	// retentionPolicy determines what happens to the claims. Absent means that they are deleted with the JobSet.
	// +optional
	RetentionPolicy *VolumeRetentionPolicy `json:"retentionPolicy,omitempty"`
}

// VolumeRetentionPolicy determines what happens to claims.
type VolumeRetentionPolicy struct {
	// whenDeleted is what happens to the claims when the JobSet is deleted: Delete or Retain. Default Delete.
	// +optional
	// +kubebuilder:default=Delete
	WhenDeleted RetentionPolicyType `json:"whenDeleted,omitempty"`
}

// RetentionPolicyType is what happens to a claim.
//
// +kubebuilder:validation:Enum=Delete;Retain
type RetentionPolicyType string

const (
	// RetentionPolicyDelete deletes the claim together with the JobSet, through an owner reference.
	RetentionPolicyDelete RetentionPolicyType = "Delete"
	// RetentionPolicyRetain keeps the claim.
	RetentionPolicyRetain RetentionPolicyType = "Retain"
)
