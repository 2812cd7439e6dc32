//go:build e2e

package testbed

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// namespace creates a namespace for the test, and deletes it at the end.
func namespace(t *testing.T, name string) string {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-" + name + "-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("removing namespace %s: %v", ns.Name, err)
		}
	})
	until(t, "pods can be created", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return ns.Name
}

// patience is how long to wait for a state that an idle machine reaches within seconds.
const patience = 5 * time.Minute

// until calls ask until it returns nil, and fails the test with its last error.
func until(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	untilIn(t.Context(), t, what, ask)
}

// untilIn is like until, but for clean-ups, during which the test's context is done.
func untilIn(ctx context.Context, t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	if err := framework.UntilEvery(ctx, what, 100*time.Millisecond, patience, ask); err != nil {
		t.Fatal(err)
	}
}

// count fails unless the number of matching pods is as wanted.
func count(ctx context.Context, namespace string, want int, match func(*corev1.Pod) bool) error {
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	got := 0
	for i := range list.Items {
		if match(&list.Items[i]) {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("%d of %d pods match, want %d", got, len(list.Items), want)
	}
	return nil
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
