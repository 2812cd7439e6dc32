package credentials

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// newPassword is 256 random bits.
func newPassword() string {
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		panic(err) // the kernel's source of randomness never fails
	}
	return hex.EncodeToString(b)
}

// hashOf is how the store keeps a password.
func hashOf(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// secret brings a password to the pods of a JobSet. It goes with the JobSet.
func secret(js *v1alpha2.JobSet, password string, ca []byte) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: js.Namespace, Name: inplace.StoreSecret(js.Name),
			Labels: map[string]string{v1alpha2.JobSetNameKey: js.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha2.GroupVersion.String(), Kind: "JobSet", Name: js.Name, UID: js.UID,
			}},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			inplace.SecretUsername: []byte(coordination.UserOf(string(js.UID))), inplace.SecretPassword: []byte(password),
		},
	}
	if len(ca) > 0 {
		s.Data[inplace.SecretCA] = ca
	}
	return s
}
