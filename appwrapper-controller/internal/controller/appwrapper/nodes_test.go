package appwrapper

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
)

// A node heartbeat does not trigger a reconcile.
func TestNodeChanged(t *testing.T) {
	node := func(changes ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"health": "PASS"}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: "Bad", Status: corev1.ConditionFalse}}
		for _, change := range changes {
			change(n)
		}
		return podcache.StripNode(n)
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"a heartbeat": {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }, false},
		"an image":    {func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{Names: []string{"i"}}} }, false},
		"a label":     {func(n *corev1.Node) { n.Labels = map[string]string{"health": "ERR"} }, true},
		"a taint":     {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a"}} }, true},
		"a condition": {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue }, true},
		"a newer condition": {func(n *corev1.Node) {
			n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(1000, 0))
		}, true},
	} {
		if got := nodeChanged(event.TypedUpdateEvent[*corev1.Node]{ObjectOld: node(), ObjectNew: node(tc.change)}); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
