package read

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSparesAreNoWorkers(t *testing.T) {
	pod := func(name, job, slot string) corev1.Pod {
		annotations := map[string]string{jobIndexKey: job}
		if slot != "" {
			annotations[slotKey] = slot
		}
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	}
	w := &Workload{Pods: []corev1.Pod{
		pod("worker", "0", ""), pod("spare", "spares", ""), pod("a spare with a slot", "spares", "js-w-0-1"), pod("the next pod of that slot", "0", "-"),
	}}
	names := func(pods []corev1.Pod) (list string) {
		for i := range pods {
			list += pods[i].Name + ", "
		}
		return list
	}
	rigid, _ := w.Workers()
	if got := names(rigid); got != "worker, a spare with a slot, " {
		t.Errorf("workers: %s", got)
	}
	if got := names(w.Spares()); got != "spare, the next pod of that slot, " {
		t.Errorf("spares: %s", got)
	}
}
