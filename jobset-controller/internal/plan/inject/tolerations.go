package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// lostNodeSeconds is how long pods stay on a node that is not heard of, after the 40 to 50 s that it takes until Kubernetes says so.
// It gives 300 s where nobody says anything, in which a whole group waits for one node. Nothing is lost on a node that comes back
// later: its group has gone on without it.
const lostNodeSeconds int64 = 10

// lostNode are the taints of a node that is not heard of.
var lostNode = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// leaveLostNodes has pods leave a node that is not heard of, unless their author has said when.
func leaveLostNodes(pod *corev1.PodSpec) {
	for _, taint := range lostNode {
		if tolerated(pod.Tolerations, taint) {
			continue
		}
		pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(lostNodeSeconds),
		})
	}
}

func tolerated(tolerations []corev1.Toleration, taint string) bool {
	return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
		effect := t.Effect == "" || t.Effect == corev1.TaintEffectNoExecute
		return effect && (t.Key == taint || (t.Key == "" && t.Operator == corev1.TolerationOpExists))
	})
}
