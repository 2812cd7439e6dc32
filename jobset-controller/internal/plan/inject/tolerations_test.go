package inject

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestPodsLeaveUnreachableNodes(t *testing.T) {
	const both = "node.kubernetes.io/not-ready:10 node.kubernetes.io/unreachable:10"
	cases := map[string]struct {
		have []corev1.Toleration
		want string // all tolerations, as key or key:seconds
	}{
		"no tolerations": {nil, both},
		"another taint":  {[]corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}, "gpu " + both},
		"one of the two is the user's": {
			[]corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](900)}},
			"node.kubernetes.io/not-ready:900 node.kubernetes.io/unreachable:10"},
		"for another effect": {
			[]corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			"node.kubernetes.io/not-ready " + both},
		"everything is tolerated forever": {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.PodSpec{Tolerations: c.have}
			leaveLostNodes(pod)
			leaveLostNodes(pod) // is idempotent
			var got []string
			for _, x := range pod.Tolerations {
				text := x.Key
				if x.TolerationSeconds != nil {
					text += fmt.Sprint(":", *x.TolerationSeconds)
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
