//go:build e2e

package testbed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-project/holdfast/e2e/testbed"
)

// TestLifecycle starts and stops the testbed on this host, so no testbed may be running before the test.
func TestLifecycle(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the testbed needs root")
	}
	if _, err := testbed.Attach(); !errors.Is(err, testbed.ErrNotUp) {
		t.Fatal("a testbed is up: take it down to run this test")
	}
	t.Cleanup(func() { down(t) })

	cluster := up(t, testbed.Options{})
	runPod(t, cluster, "before")
	t.Run("running components are left alone", func(t *testing.T) {
		before := running(t)
		up(t, testbed.Options{})
		if diff := cmp.Diff(before, running(t)); diff != "" {
			t.Errorf("processes (-before +after):\n%s", diff)
		}
	})
	t.Run("killed components are restarted and the pods keep running", func(t *testing.T) {
		pid := containerPID(t, cluster, "before")
		kill(t, "etcd", "kube-apiserver", "node-1-containerd", "node-1-kubelet", "redis", "coredns")
		cluster = up(t, testbed.Options{})
		if now := containerPID(t, cluster, "before"); now != pid {
			t.Errorf("the pod's process was %d and is %d", pid, now)
		}
		runPod(t, cluster, "after")
	})
	t.Run("a node whose namespace is gone is recreated", func(t *testing.T) {
		kill(t, "node-1")
		cluster = up(t, testbed.Options{})
		runPod(t, cluster, "anew")
	})
	t.Run("down leaves nothing, with everything alive", func(t *testing.T) {
		down(t)
	})
	t.Run("down leaves nothing after a start that was cut off", func(t *testing.T) {
		for _, after := range []time.Duration{100, 400, 900, 1800, 2700} {
			ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
			_, err := testbed.Up(ctx, testbed.Options{}, t.Output())
			cancel()
			t.Logf("cut off after %d ms: %v", after, err)
			down(t)
		}
	})
	t.Run("down leaves nothing after everything was killed", func(t *testing.T) {
		runPod(t, up(t, testbed.Options{}), "orphan")
		status := inspect(t)
		for _, component := range status.Components {
			kill(t, component.Name)
		}
		spoil(t, "etcd")
		down(t)
	})
	t.Run("of another folder's testbed, only what has ended is removed", func(t *testing.T) {
		up(t, testbed.Options{})
		components, first, elsewhere := inspect(t).Components, cacheDir(t), t.TempDir()
		t.Setenv("XDG_CACHE_HOME", elsewhere)
		if err := testbed.Down(t.Context(), false, t.Output()); err == nil {
			t.Fatal("a running testbed of another folder was taken down")
		}
		t.Setenv("XDG_CACHE_HOME", first)
		for _, component := range components {
			kill(t, component.Name)
		}
		for len(running(t)) > 0 { // a killed process ends a moment later
			time.Sleep(10 * time.Millisecond)
		}
		t.Setenv("XDG_CACHE_HOME", elsewhere)
		down(t)
		if _, err := os.Stat(filepath.Join(first, "holdfast", "testbed")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the records of the ended testbed are still there: %v", err)
		}
	})
}

func up(t *testing.T, options testbed.Options) *testbed.Cluster {
	t.Helper()
	cluster, err := testbed.Up(t.Context(), options, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// down does not use the test's context, because it also cleans up after failures.
func down(t *testing.T) {
	t.Helper()
	if err := testbed.DownClean(context.Background(), t.Output()); err != nil {
		t.Fatal(err)
	}
}

func inspect(t *testing.T) testbed.Status {
	t.Helper()
	status, err := testbed.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func cacheDir(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// running returns the PIDs of the running components.
func running(t *testing.T) map[string]int {
	t.Helper()
	pids := map[string]int{}
	for _, component := range inspect(t).Components {
		if component.Alive {
			pids[component.Name] = component.PID
		}
	}
	return pids
}

func kill(t *testing.T, names ...string) {
	t.Helper()
	killed := 0
	for _, component := range inspect(t).Components {
		for _, name := range names {
			if component.Name != name || !component.Alive {
				continue
			}
			process, err := os.FindProcess(component.PID)
			if err == nil {
				err = process.Kill()
			}
			if err != nil {
				t.Fatalf("killing %s: %v", name, err)
			}
			killed++
		}
	}
	if killed != len(names) {
		t.Fatalf("killed %d of %v", killed, names)
	}
}

// spoil leaves a record as if its write had been interrupted.
func spoil(t *testing.T, component string) {
	t.Helper()
	layout, err := testbed.NewLayout()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(layout.State()+"/processes/"+component+".json", []byte(`{"na`), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runPod runs a pod with the one image that is always available, and returns once the pod is running.
func runPod(t *testing.T, cluster *testbed.Cluster, name string) {
	t.Helper()
	client := clientOf(t, cluster)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "localhost/pause:1"}},
		},
	}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		got, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil && got.Status.Phase == corev1.PodRunning, nil
	})
	if err != nil {
		t.Fatalf("waiting for pod %s: %v", name, err)
	}
}

func containerPID(t *testing.T, cluster *testbed.Cluster, pod string) int {
	t.Helper()
	object, err := clientOf(t, cluster).CoreV1().Pods("default").Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pid, err := cluster.ContainerPID(t.Context(), string(object.UID), "main")
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func clientOf(t *testing.T, cluster *testbed.Cluster) kubernetes.Interface {
	t.Helper()
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
