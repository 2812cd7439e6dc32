//go:build e2e && e2e_all

package soak

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// fault is one kind of failure. If its victim does not exist, for example because it is restarting, strike
// returns errNobody and the fault does not count.
type fault struct {
	name   string
	weight int
	strike func(*soak) error
}

var errNobody = errors.New("no victim")

var faults = []fault{
	{"a worker exits", 6, signalWorker(unix.SIGUSR1)},
	{"a worker is killed", 6, signalWorker(unix.SIGKILL)},
	{"a worker hangs", 4, signalWorker(unix.SIGSTOP)},
	{"a worker runs out of memory", 3, signalWorker(unix.SIGPWR)},
	{"a container dies with its supervisor", 2, killContainer},
	{"a pod is deleted", 2, deletePod},
	{"the store restarts", 2, restartStore},
	{"the leading orchestrator is killed", 2, killOrchestrator},
}

func signalWorker(s unix.Signal) func(*soak) error {
	return func(k *soak) error {
		w, err := k.victim()
		if err == nil {
			_, err = shared.Signal(k.Context(), w, s)
		}
		return orNobody(err)
	}
}

func killContainer(k *soak) error {
	w, err := k.victim()
	if err == nil {
		_, err = shared.SignalContainer(k.Context(), w.PodUID, "worker", unix.SIGKILL)
	}
	return orNobody(err)
}

// orNobody wraps an error as errNobody. The victim may disappear before it is signaled, and it has no process while it
// waits at the barrier.
func orNobody(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errNobody, err)
	}
	return nil
}

func deletePod(k *soak) error {
	w, err := k.victim()
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Pod}}
	err = shared.Client.Delete(k.Context(), pod, client.Preconditions{UID: ptr.To(types.UID(w.PodUID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return orNobody(err)
	}
	return err
}

func restartStore(k *soak) error {
	store := shared.Cluster.Redis()
	if err := store.Kill(k.Context()); err != nil {
		return err
	}
	return store.Start(context.WithoutCancel(k.Context()), false)
}

// killOrchestrator reads the orchestrator's metrics before it kills the orchestrator, because the metrics are lost with it.
func killOrchestrator(k *soak) error {
	if err := k.counted(+1); err != nil {
		return err
	}
	k.kills++
	if err := shared.Cluster.KillProgram(k.Context(), framework.Orchestrator); err != nil {
		return err
	}
	return shared.StartOrchestrator(context.WithoutCancel(k.Context()))
}
