//go:build e2e

package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-project/holdfast/e2e/testbed/image"
)

const probeImage = "localhost/holdfast/probe:e2e"

var loadProbe = sync.OnceValue(func() error {
	dir, err := os.MkdirTemp("", "holdfast-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, archive := filepath.Join(dir, "probe"), filepath.Join(dir, "probe.tar")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "../../images/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the probe: %w\n%s", err, out)
	}
	img := image.Image{Name: probeImage, Entrypoint: []string{"/probe"}, Files: map[string]string{"/probe": binary}}
	if err := img.Write(archive); err != nil {
		return err
	}
	return cluster.LoadImage(context.Background(), archive)
})

// probe returns a pod that runs the probe with the arguments on a node.
func probe(t *testing.T, node, name string, args ...string) *corev1.Pod {
	t.Helper()
	if err := loadProbe(); err != nil {
		t.Fatal(err)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName:      node,
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "probe", Image: probeImage, Args: args}},
		},
	}
}

func runPod(t *testing.T, namespace string, pod *corev1.Pod) {
	t.Helper()
	pods := client.CoreV1().Pods(namespace)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removePod(t, namespace, pod.Name) })
}

// removePod deletes a pod and returns once it is gone. The test may remove its node next, and deleting only the
// namespace would keep the default grace period of 30 s.
func removePod(t *testing.T, namespace, name string) {
	ctx, second := context.Background(), int64(1)
	pods := client.CoreV1().Pods(namespace)
	_ = pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &second})
	untilIn(ctx, t, name+" is gone", func(ctx context.Context) error {
		if _, err := pods.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it still exists (%v)", err)
		}
		return nil
	})
}

func awaitReady(t *testing.T, namespace, name string) {
	t.Helper()
	until(t, name+" is ready", func(ctx context.Context) error {
		pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !ready(pod) {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
}

// output returns the output of a pod once it has succeeded.
func output(t *testing.T, namespace, name string) string {
	t.Helper()
	var printed string
	until(t, name+" has succeeded, and its output can be read", func(ctx context.Context) error {
		pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		raw, err := client.CoreV1().Pods(namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("it is %s: %s (%v)", pod.Status.Phase, raw, err)
		}
		printed = string(raw)
		return err
	})
	return printed
}

// service creates a service for the pods of the app with the same name.
func service(t *testing.T, namespace, name string, kind corev1.ServiceType, port, target int32) *corev1.Service {
	t.Helper()
	made, err := client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Type: kind, Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromInt32(target)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
