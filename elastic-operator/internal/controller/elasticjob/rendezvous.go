package elasticjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

const (
	// statusInterval is the interval between status requests to a server while the workers are training. incompleteInterval applies while they
	// are waiting for each other.
	statusInterval     = 10 * time.Second
	incompleteInterval = 2 * time.Second
	// unreachablePause is added to the interval after a timeout, because each request blocks one of the controller's workers until it times
	// out.
	unreachablePause = time.Minute
	requestTimeout   = 500 * time.Millisecond
	maxResponse      = 1 << 20 // bytes
	// restartPause is the minimum time between two creations of a server pod. Without it, a node that rejects pods within milliseconds
	// would cause many creations.
	restartPause = 5 * time.Second
)

// RendezvousReader requests the status of a rendezvous server at the URL.
type RendezvousReader func(ctx context.Context, url string) (v1alpha1.RendezvousStatus, error)

// ensureRendezvous creates, replaces or deletes the managed rendezvous server of a job.
func (r *Reconciler) ensureRendezvous(ctx context.Context, s *scope, d *policy.Decision) error {
	if !plan.Managed(s.job) || !d.Rendezvous {
		return r.stopServer(ctx, s)
	}
	if r.RendezvousImage == "" {
		return nil // reported in the status
	}
	var errs []error
	if s.serverService == nil {
		errs = append(errs, r.create(ctx, s.job, plan.RendezvousService(s.job), ofServices))
	}
	wanted := plan.RendezvousPod(s.job, r.RendezvousImage, r.Agents.PullSecrets, d.Status.Resumes)
	switch {
	case s.server == nil:
		errs = append(errs, r.create(ctx, s.job, wanted, ofPods))
	case terminated(s.server) && s.server.DeletionTimestamp == nil && s.serverAge() < restartPause:
		s.requestAfter = requeue.Soonest(s.requestAfter, restartPause-s.serverAge())
	case s.serverLost || terminated(s.server) || !serves(s.server, plan.RunID(s.job, d.Status.Resumes)):
		errs = append(errs, r.stopServer(ctx, s))
	}
	return errors.Join(errs...)
}

// stopServer deletes the pod. The service is deleted together with the job.
func (r *Reconciler) stopServer(ctx context.Context, s *scope) error {
	if s.server == nil || (s.server.DeletionTimestamp != nil && !s.serverLost) {
		return nil
	}
	return r.delete(ctx, s.job, s.server, ofPods, s.serverLost)
}

func (s *scope) serverAge() time.Duration { return s.facts.Now.Sub(s.server.CreationTimestamp.Time) }

func terminated(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// serves reports whether the server serves the run. It compares only the run ID: a server with a different image or different flags keeps
// running, because replacing it would restart all workers.
func serves(server *corev1.Pod, runID string) bool {
	return slices.ContainsFunc(server.Spec.Containers[0].Args, func(arg string) bool { return strings.HasSuffix(arg, "="+runID) })
}

// observeRendezvous observes the managed rendezvous server. The status keeps the last response until the next one arrives.
func (r *Reconciler) observeRendezvous(ctx context.Context, s *scope) {
	if !plan.Managed(s.job) {
		return
	}
	status := ptr.To(ptr.Deref(s.job.Status.Rendezvous, v1alpha1.RendezvousStatus{}))
	status.Endpoint = plan.Endpoint(s.job)
	s.rendezvous = status
	if r.RendezvousImage == "" {
		status.Message = "the operator runs without --rendezvous-image: set spec.rdzvEndpoint to your own rendezvous"
		return
	}
	s.facts.Rendezvous = policy.Rendezvous{Managed: true, Started: started(s.server)}
	if s.server == nil || s.server.Status.PodIP == "" || s.server.Status.Phase != corev1.PodRunning {
		status.Message = "the server is not running yet"
		status.Complete = false
		s.facts.Rendezvous.Incomplete = "the rendezvous server is not running yet"
		return
	}
	r.requestStatus(ctx, s, status)
	if status.Message == "" && !status.Complete {
		s.facts.Rendezvous.Incomplete = fmt.Sprintf("the workers have not completed a rendezvous round: %d have joined, their agents have restarted them %d times",
			status.Participants, status.Restarts)
	}
}

// started returns the start time of the server's container, or zero if it is not running.
func started(server *corev1.Pod) time.Time {
	if server == nil {
		return time.Time{}
	}
	for _, c := range server.Status.ContainerStatuses {
		if c.State.Running != nil {
			return c.State.Running.StartedAt.Time
		}
	}
	return time.Time{}
}

// clearRendezvous updates the status for a server that is no longer needed.
func (s *scope) clearRendezvous() {
	s.requestAfter = 0
	if s.rendezvous != nil {
		s.rendezvous.Message, s.rendezvous.Waiting, s.rendezvous.Complete = "", 0, false
	}
}

// statusRequest is the UID of a server pod whose status was requested.
type statusRequest types.UID

// requestStatus requests the server's status unless the last request is recent. If the request fails, only the message changes.
func (r *Reconciler) requestStatus(ctx context.Context, s *scope, status *v1alpha1.RendezvousStatus) {
	key := statusRequest(s.server.UID)
	if s.requestAfter = r.wait(key); s.requestAfter > 0 {
		return
	}
	response, err := r.Rendezvous(ctx, fmt.Sprintf("http://%s:%d/status", s.server.Status.PodIP, plan.RendezvousMetricsPort))
	if err == nil {
		response.Endpoint = status.Endpoint
		*status = response
	} else {
		status.Message = "the server is unreachable"
	}
	s.requestAfter = statusInterval
	switch {
	case utilnet.IsTimeout(err):
		s.requestAfter += unreachablePause
	case !status.Complete:
		s.requestAfter = incompleteInterval
	}
	r.delay(key, s.requestAfter)
}

var statusClient = &http.Client{Timeout: requestTimeout}

// HTTPRendezvous is a RendezvousReader that uses HTTP. docs/rendezvous.md describes the response.
func HTTPRendezvous(ctx context.Context, url string) (status v1alpha1.RendezvousStatus, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return status, err
	}
	response, err := statusClient.Do(request)
	if err != nil {
		return status, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return status, errors.New(response.Status)
	}
	err = json.NewDecoder(io.LimitReader(response.Body, maxResponse)).Decode(&status)
	return status, err
}
