package credentials

import (
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// newPassword returns a password with at least 256 bits of randomness, consisting of letters and digits.
func newPassword() string { return rand.Text() + rand.Text() }

// secret returns the Secret that delivers a password to the pods of an owner. It is deleted with the owner.
func secret(owner client.Object, password string, ca []byte) *corev1.Secret {
	kind := owners.KindOf(owner)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: secretName(owner),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID(),
			}},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			supervise.SecretUsername: []byte(coordination.UserOf(string(owner.GetUID()))), supervise.SecretPassword: []byte(password),
		},
	}
	if kind == owners.JobSet {
		s.Labels = map[string]string{v1alpha2.JobSetNameKey: owner.GetName()}
	}
	if len(ca) > 0 {
		s.Data[supervise.SecretCA] = ca
	}
	return s
}

// secretName returns the name of an owner's Secret. It differs between owners that have the same name but different
// kinds.
func secretName(owner client.Object) string {
	kind := owners.KindOf(owner)
	if kind == owners.ElasticJob {
		return supervise.ElasticSecret(owner.GetName())
	}
	return inplace.StoreSecret(kind.Kind, owner.GetName())
}
