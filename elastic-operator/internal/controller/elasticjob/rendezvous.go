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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

const (
	// askEvery is how old status.rendezvous may be while the workers train, and askIncomplete while they wait for each other.
	askEvery      = 10 * time.Second
	askIncomplete = 2 * time.Second
	// askTimeout: a server that has nothing else to do answers in milliseconds.
	askTimeout = 500 * time.Millisecond
	// maxAnswer keeps whatever answers there from filling the memory.
	maxAnswer = 1 << 20
)

// RendezvousReader reads the status of a rendezvous server at the URL.
type RendezvousReader func(ctx context.Context, url string) (v1alpha1.RendezvousStatus, error)

// ensureRendezvous runs a server for a job that has no rendezvous of its own, while it runs.
func (r *Reconciler) ensureRendezvous(ctx context.Context, s *scope, d *policy.Decision) error {
	if !plan.Managed(s.job) || !d.Rendezvous {
		return r.stopServer(ctx, s)
	}
	if r.RendezvousImage == "" {
		return nil // the status says so
	}
	var errs []error
	if s.serverService == nil {
		errs = append(errs, r.createService(ctx, s.job, plan.RendezvousService(s.job)))
	}
	wanted := plan.RendezvousPod(s.job, r.RendezvousImage, r.Agents.PullSecrets, d.Memory.Resumes)
	switch {
	case s.server == nil:
		_, err := r.createPod(ctx, s.job, wanted)
		errs = append(errs, err)
	case over(s.server) && s.server.DeletionTimestamp == nil && s.serverAge() < serverPause:
		s.askAgain = soonest(s.askAgain, serverPause-s.serverAge())
	case s.serverLost || over(s.server) || !serves(s.server, plan.RunID(s.job, d.Memory.Resumes)):
		errs = append(errs, r.stopServer(ctx, s))
	}
	return errors.Join(errs...)
}

// stopServer deletes the pod; its service goes with the job.
func (r *Reconciler) stopServer(ctx context.Context, s *scope) error {
	if s.server == nil || (s.server.DeletionTimestamp != nil && !s.serverLost) {
		return nil
	}
	return r.deletePod(ctx, s.job, s.server, s.serverLost)
}

// serverPause is how old a server has to be before it is made again: nodes turn pods away within milliseconds, again and again.
const serverPause = 5 * time.Second

func (s *scope) serverAge() time.Duration { return s.facts.Now.Sub(s.server.CreationTimestamp.Time) }

func over(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// serves reports whether the server serves the run. A server of another image, or with other flags, keeps running: its end would cost the
// workers a restart.
func serves(server *corev1.Pod, runID string) bool {
	return slices.ContainsFunc(server.Spec.Containers[0].Args, func(arg string) bool { return strings.HasSuffix(arg, "="+runID) })
}

// observeRendezvous reads the state of the managed server. What it last answered stands until it answers again.
func (r *Reconciler) observeRendezvous(ctx context.Context, s *scope) {
	if !plan.Managed(s.job) || s.facts.Deleted {
		return
	}
	said := &v1alpha1.RendezvousStatus{}
	if s.job.Status.Rendezvous != nil {
		said = s.job.Status.Rendezvous.DeepCopy()
	}
	said.Endpoint = plan.Endpoint(s.job)
	s.rendezvous = said
	if r.RendezvousImage == "" {
		said.Message = "the operator has no --rendezvous-image: set spec.rdzvEndpoint to a rendezvous of your own"
		return
	}
	s.facts.Rendezvous = policy.Rendezvous{Managed: true, Started: started(s.server)}
	if s.server == nil || s.server.Status.PodIP == "" || s.server.Status.Phase != corev1.PodRunning {
		said.Message = "the server is not running yet"
		said.Complete = false
		s.facts.Rendezvous.Unmet = "the rendezvous server is not running yet"
		return
	}
	if r.Rendezvous == nil {
		return
	}
	r.ask(ctx, s, said)
	if said.Message == "" && !said.Complete {
		s.facts.Rendezvous.Unmet = fmt.Sprintf("the workers have not completed a round of the rendezvous: %d have joined, their agents have restarted them %d times", said.Participants, said.Restarts)
	}
}

// started returns when the server's container started; zero if it does not run.
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

// forgetRendezvous clears what the status says of a server that is not wanted any more.
func (s *scope) forgetRendezvous() {
	s.askAgain = 0
	if s.rendezvous != nil {
		s.rendezvous.Message, s.rendezvous.Waiting, s.rendezvous.Complete = "", 0, false
	}
}

// askPause is added for a server that cannot be reached: each question occupies a worker of the controller for its time-out.
const askPause = time.Minute

// ask asks the server, unless its last answer is recent. Without an answer, s.rendezvous says so.
func (r *Reconciler) ask(ctx context.Context, s *scope, said *v1alpha1.RendezvousStatus) {
	every := askEvery
	if !said.Complete {
		every = askIncomplete
	}
	if wait := r.asked.due(s.job.UID, every); wait > 0 {
		s.askAgain = wait
		return
	}
	s.askAgain = every
	answer, err := r.Rendezvous(ctx, plan.StatusURL(s.job, s.server.Status.PodIP))
	if err != nil {
		said.Message = "the server does not answer"
		s.askAgain = askEvery
		if utilnet.IsTimeout(err) {
			r.asked.postpone(s.job.UID, askPause)
			s.askAgain = askEvery + askPause
		}
		return
	}
	answer.Endpoint = said.Endpoint
	*said = answer
}

// HTTPRendezvous asks by HTTP.
func HTTPRendezvous() RendezvousReader {
	c := &http.Client{Timeout: askTimeout}
	return func(ctx context.Context, url string) (v1alpha1.RendezvousStatus, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return v1alpha1.RendezvousStatus{}, err
		}
		response, err := c.Do(request)
		if err != nil {
			return v1alpha1.RendezvousStatus{}, fmt.Errorf("asking the rendezvous server: %w", err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return v1alpha1.RendezvousStatus{}, fmt.Errorf("asking the rendezvous server: %s", response.Status)
		}
		content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return v1alpha1.RendezvousStatus{}, fmt.Errorf("asking the rendezvous server: %w", err)
		}
		return parseAnswer(content)
	}
}

// parseAnswer reads the answer of a server, see the module's doc.go. One without a round is not from a server of this version.
func parseAnswer(content []byte) (v1alpha1.RendezvousStatus, error) {
	var a struct {
		Round        *int64       `json:"round"`
		Complete     bool         `json:"complete"`
		Restarts     int64        `json:"restarts"`
		Participants int32        `json:"participants"`
		Waiting      int32        `json:"waiting"`
		Closed       bool         `json:"closed"`
		LastChange   *metav1.Time `json:"lastChange"`
		Unreadable   bool         `json:"unreadable"`
	}
	if err := json.Unmarshal(content, &a); err != nil {
		return v1alpha1.RendezvousStatus{}, fmt.Errorf("reading the answer of the rendezvous server: %w", err)
	}
	if a.Round == nil {
		return v1alpha1.RendezvousStatus{}, errors.New("reading the answer of the rendezvous server: it has no round")
	}
	status := v1alpha1.RendezvousStatus{
		Round: *a.Round, Complete: a.Complete, Restarts: a.Restarts, Participants: a.Participants, Waiting: a.Waiting, Closed: a.Closed,
		LastChange: a.LastChange,
	}
	if a.Unreadable {
		status.Message = "the server cannot read the state that this PyTorch writes"
	}
	return status, nil
}
