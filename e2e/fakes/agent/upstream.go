package agent

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	// UpstreamProgram is the main program of containers that run the upstream JobSet controller's agent.
	UpstreamProgram = "in-place-restart-agent"

	attemptKey    = "jobset.sigs.k8s.io/in-place-restart-attempt"
	upstreamOwner = "in-place-restart-agent" // field owner of the annotation
	exitRestart   = 1                        // the exit code that makes the kubelet restart the agent's container
	upstreamRetry = time.Second              // after an API call that failed
	watchRetry    = 200 * time.Millisecond
)

// upstream simulates the agents of restartStrategy InPlaceRestart of the upstream JobSet controller v0.12.0, as the main program of the
// workers' containers. Each agent writes its attempt to its pod, with a real API call. It exits if the JobSet's status shows that its
// attempt has ended, and starts the worker once all pods have the same attempt. All agents share one watch of the JobSets. The real ones
// have one each, which costs the API server more.
type upstream struct {
	all    *Agents
	client client.WithWatch

	mu     sync.Mutex
	agents map[types.UID]*upstreamAgent // by UID of the pod
	status map[string]v1alpha2.JobSetStatus
	begin  sync.Once
}

// upstreamAgent is one run of an agent. A restart of its container replaces it.
type upstreamAgent struct {
	worker  Worker
	pod     types.NamespacedName
	uid     types.UID // of the pod
	attempt *int32    // nil until the pod has it
	waits   bool      // at the barrier
	ended   bool
}

// started replaces the agent of a pod whose container has started.
func (u *upstream) started(w Worker, pod *corev1.Pod) {
	u.begin.Do(func() { u.all.running.Go(func() { u.watch(u.all.ctx, pod.Namespace) }) })
	a := &upstreamAgent{worker: w, pod: client.ObjectKeyFromObject(pod), uid: pod.UID, waits: true}
	u.mu.Lock()
	u.agents[pod.UID] = a
	status, known := u.status[w.JobSet]
	u.mu.Unlock()
	if known {
		u.join(a, status)
	}
}

func (u *upstream) podEnded(pod types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.agents, pod)
}

// watch follows the JobSets of a namespace until ctx is done.
func (u *upstream) watch(ctx context.Context, namespace string) {
	for ctx.Err() == nil {
		w, err := u.client.Watch(ctx, &v1alpha2.JobSetList{}, client.InNamespace(namespace))
		if err != nil {
			time.Sleep(watchRetry)
			continue
		}
		u.follow(ctx, w)
		w.Stop()
	}
}

func (u *upstream) follow(ctx context.Context, w watch.Interface) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-w.ResultChan():
			if !open {
				return
			}
			if js, ok := event.Object.(*v1alpha2.JobSet); ok && event.Type != watch.Deleted {
				u.changed(js)
			}
		}
	}
}

// changed passes the status of a JobSet to its agents.
func (u *upstream) changed(js *v1alpha2.JobSet) {
	u.mu.Lock()
	u.status[js.Name] = js.Status
	var joining []*upstreamAgent
	for _, a := range u.agents {
		if a.worker.JobSet == js.Name && !u.decide(a, js.Status) {
			joining = append(joining, a)
		}
	}
	u.mu.Unlock()
	for _, a := range joining {
		u.join(a, js.Status)
	}
}

// decide reacts to a status as a real agent does. It returns false if the agent has no attempt yet. The caller holds the lock.
func (u *upstream) decide(a *upstreamAgent, status v1alpha2.JobSetStatus) bool {
	if a.attempt == nil {
		return false
	}
	previous, current := status.PreviousInPlaceRestartAttempt, status.CurrentInPlaceRestartAttempt
	switch {
	case a.ended:
	case previous != nil && *a.attempt <= *previous:
		a.ended = true
		u.all.ordered(a.worker)
		time.AfterFunc(u.all.timing.Dies.Draw()+u.all.timing.Told.Draw(), func() {
			_ = u.all.kubelet.Exit(a.pod, a.worker.container, exitRestart) // fails only if the container has already ended
			u.all.died(a.worker)
		})
	case a.waits && current != nil && *a.attempt == *current:
		a.waits = false
		time.AfterFunc(u.all.timing.Execs.Draw(), func() { u.all.began(a.worker) })
	}
	return true
}

// join writes the attempt of an agent that has just started to its pod.
func (u *upstream) join(a *upstreamAgent, status v1alpha2.JobSetStatus) {
	attempt := int32(0)
	if current := status.CurrentInPlaceRestartAttempt; current != nil {
		attempt = *current + 1
	}
	u.mu.Lock()
	if a.attempt != nil {
		u.mu.Unlock()
		return
	}
	a.attempt = &attempt
	u.mu.Unlock()
	u.all.running.Go(func() {
		u.write(a, attempt)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.decide(a, u.status[a.worker.JobSet])
	})
}

// write repeats the API call until it succeeds or the pod is gone.
func (u *upstream) write(a *upstreamAgent, attempt int32) {
	pod := corev1apply.Pod(a.pod.Name, a.pod.Namespace).WithAnnotations(map[string]string{attemptKey: strconv.Itoa(int(attempt))})
	for u.all.ctx.Err() == nil {
		err := u.client.Apply(u.all.ctx, pod, client.FieldOwner(upstreamOwner), client.ForceOwnership)
		if err == nil {
			return
		}
		if !u.runs(a) {
			return
		}
		fmt.Fprintf(os.Stderr, "writing the attempt of pod %s: %v\n", a.pod.Name, err)
		time.Sleep(upstreamRetry)
	}
}

// runs reports whether an agent has not been replaced and its pod has not ended.
func (u *upstream) runs(a *upstreamAgent) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.agents[a.uid] == a
}

// UpstreamPod changes a template so that the upstream controller's agent runs its worker.
func UpstreamPod(template *corev1.PodTemplateSpec) {
	template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	worker := &template.Spec.Containers[0]
	worker.Env = append(worker.Env, corev1.EnvVar{Name: "WORKER_COMMAND", Value: worker.Command[0]})
	worker.Command = []string{UpstreamProgram}
}
