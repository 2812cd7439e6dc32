package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// lostNodeSeconds is how long pods stay on an unreachable node, in addition to the 40 to 50 s until Kubernetes marks the node. The
// default is 300 s, in which a whole group waits for one node. A node that returns later loses nothing: its group has gone on
// without it.
const lostNodeSeconds int64 = 10

// lostNode are the taints of an unreachable node.
var lostNode = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// leaveLostNodes makes pods leave an unreachable node early, unless their author has set tolerations for it.
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
