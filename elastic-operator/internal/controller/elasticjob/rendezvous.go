package elasticjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

const (
	// askEvery is how old status.rendezvous may be.
	askEvery = 10 * time.Second
	// askTimeout: a server that has nothing else to do answers in milliseconds.
	askTimeout = 500 * time.Millisecond
	// maxAnswer keeps whatever answers there from filling the memory.
	maxAnswer = 1 << 20
)

// RendezvousReader asks the server of a job, at the URL, what it knows.
type RendezvousReader func(ctx context.Context, url, job string) (v1alpha1.RendezvousStatus, error)

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
	wanted := plan.RendezvousPod(s.job, r.RendezvousImage, d.Memory.Resumes)
	switch {
	case s.server == nil:
		_, err := r.createPod(ctx, s.job, wanted)
		errs = append(errs, err)
	case over(s.server) && s.server.DeletionTimestamp == nil && s.serverAge() < serverPause:
		s.askAgain = soonest(s.askAgain, serverPause-s.serverAge())
	case s.serverLost || over(s.server) || !sameServer(s.server, wanted):
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

// sameServer: it serves the run that is wanted. Another image is no reason to end what works.
func sameServer(there, wanted *corev1.Pod) bool {
	return len(there.Spec.Containers) == 0 || slices.Equal(there.Spec.Containers[0].Args, wanted.Spec.Containers[0].Args)
}

// observeRendezvous asks the server, now and then. What it said last stands until it says something else.
func (r *Reconciler) observeRendezvous(ctx context.Context, s *scope, d *policy.Decision) {
	if !plan.Managed(s.job) {
		return
	}
	said := &v1alpha1.RendezvousStatus{}
	if s.job.Status.Rendezvous != nil {
		said = s.job.Status.Rendezvous.DeepCopy()
	}
	said.Endpoint = plan.Endpoint(s.job)
	s.rendezvous = said
	switch {
	case !d.Rendezvous:
		said.Message, said.Waiting = "", 0
	case r.RendezvousImage == "":
		said.Message = "the operator has no --rendezvous-image: set spec.rdzvEndpoint to a rendezvous of your own"
	case s.server == nil || s.server.Status.PodIP == "" || s.server.Status.Phase != corev1.PodRunning:
		said.Message = "the server is not running yet"
	case r.Rendezvous != nil:
		r.ask(ctx, s, said)
	}
}

// askPause comes on top for a server that cannot be reached: each question takes one of the workers as long as its time-out.
const askPause = time.Minute

func (r *Reconciler) ask(ctx context.Context, s *scope, said *v1alpha1.RendezvousStatus) {
	if wait := r.asked.due(s.job.UID, askEvery); wait > 0 {
		s.askAgain = wait
		return
	}
	s.askAgain = askEvery
	answer, err := r.Rendezvous(ctx, plan.StatusURL(s.job, s.server.Status.PodIP), s.job.Namespace+"/"+s.job.Name)
	if err != nil {
		said.Message = "the server does not answer"
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
	return func(ctx context.Context, url, job string) (v1alpha1.RendezvousStatus, error) {
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
		return parseAnswer(content, job)
	}
}

// parseAnswer of a server, see the module's doc.go.
func parseAnswer(content []byte, job string) (v1alpha1.RendezvousStatus, error) {
	var answer struct {
		Jobs map[string]struct {
			Round        int64        `json:"round"`
			Participants int32        `json:"participants"`
			Waiting      int32        `json:"waiting"`
			Closed       bool         `json:"closed"`
			LastChange   *metav1.Time `json:"lastChange"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		return v1alpha1.RendezvousStatus{}, fmt.Errorf("reading the answer of the rendezvous server: %w", err)
	}
	a, there := answer.Jobs[job]
	if !there {
		return v1alpha1.RendezvousStatus{}, fmt.Errorf("the rendezvous server does not serve %s", job)
	}
	return v1alpha1.RendezvousStatus{
		Round: a.Round, Participants: a.Participants, Waiting: a.Waiting, Closed: a.Closed, LastChange: a.LastChange,
	}, nil
}
