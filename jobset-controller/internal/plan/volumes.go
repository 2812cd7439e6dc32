package plan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// ClaimName returns "<template>-<jobset>".
func ClaimName(template, jobSet string) string { return template + "-" + jobSet }

// Claims builds the PersistentVolumeClaims that the pods of a JobSet share. The JobSet owns those that are deleted with it. Those
// that are retained are found again by name.
func Claims(js *v1alpha2.JobSet) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for i := range js.Spec.VolumeClaimPolicies {
		policy := &js.Spec.VolumeClaimPolicies[i]
		for j := range policy.Templates {
			claims = append(claims, claim(js, &policy.Templates[j], Retains(policy)))
		}
	}
	return claims
}

func claim(js *v1alpha2.JobSet, template *corev1.PersistentVolumeClaim, retained bool) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:        ClaimName(template.Name, js.Name),
			Namespace:   js.Namespace,
			Labels:      merged(template.Labels, map[string]string{v1alpha2.JobSetNameKey: js.Name}),
			Annotations: merged(template.Annotations),
		},
		Spec: *template.Spec.DeepCopy(),
	}
	if !retained {
		c.OwnerReferences = []metav1.OwnerReference{ownedBy(js)}
	}
	return c
}

// Retains reports whether the claims of a policy outlive the JobSet. By default they do not.
func Retains(policy *v1alpha2.VolumeClaimPolicy) bool {
	return policy.RetentionPolicy != nil && policy.RetentionPolicy.WhenDeleted == v1alpha2.RetentionPolicyRetain
}

// Mounts reports whether a container of the pod mounts the volume.
func Mounts(pod *corev1.PodSpec, volume string) bool {
	mounts := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
	}
	return slices.ContainsFunc(pod.Containers, mounts) || slices.ContainsFunc(pod.InitContainers, mounts)
}

// addClaims adds the volumes of the claims that the pod mounts. A volume of the same name in the pod template takes precedence.
func addClaims(js *v1alpha2.JobSet, pod *corev1.PodSpec) {
	for i := range js.Spec.VolumeClaimPolicies {
		for j := range js.Spec.VolumeClaimPolicies[i].Templates {
			name := js.Spec.VolumeClaimPolicies[i].Templates[j].Name
			has := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
			if has || !Mounts(pod, name) {
				continue
			}
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: ClaimName(name, js.Name)},
			}})
		}
	}
}
