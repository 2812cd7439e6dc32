package elasticjob

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// scope is the observed state of one reconcile. observe fills it. Pods and services are shared with the cache and must not be changed.
type scope struct {
	job   *v1alpha1.ElasticJob
	facts policy.Facts
	// nodes holds the nodes of the job's pods by name. The value is nil if a node does not exist.
	nodes map[string]*corev1.Node
	// pods and services hold the workers' objects by index.
	pods     map[int]*corev1.Pod
	services map[int]*corev1.Service
	// server is the pod of the managed rendezvous server, and serverLost means that its node is lost.
	server        *corev1.Pod
	serverLost    bool
	serverService *corev1.Service
	// rendezvous is the next status.rendezvous.
	rendezvous *v1alpha1.RendezvousStatus
	// requestAfter is the delay until the server's status is requested again. 0 means never.
	requestAfter time.Duration
}

// observe performs all reads of a reconcile except for the rendezvous server's status.
func (r *Reconciler) observe(ctx context.Context, job *v1alpha1.ElasticJob) (*scope, error) {
	memory, err := policy.ReadMemory(&job.Status)
	if err != nil {
		log.FromContext(ctx).Error(err, "Invalid status, ignoring the invalid fields")
	}
	s := &scope{job: job, facts: policy.Facts{
		Now: time.Now(), Namespace: job.Namespace, Name: job.Name, Settings: policy.Read(job), Pods: map[int]policy.Pod{}, Memory: memory,
		Status: job.Status, InPlace: r.observeInPlace(ctx, job),
	}}
	if err := r.observePods(ctx, s); err != nil {
		return nil, err
	}
	if err := r.observeServices(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// observeInPlace reads the in-place restart settings of the job and the report of its group. An invalid roster is replaced.
func (r *Reconciler) observeInPlace(ctx context.Context, job *v1alpha1.ElasticJob) policy.InPlace {
	var p policy.InPlace
	var err error
	if p.Timeout, err = r.Agents.Timeout(job); err != nil {
		p.Problem = "in-place restarts are not possible: " + err.Error()
	}
	if p.Roster, err = roster.Of(job.Annotations); err != nil {
		log.FromContext(ctx).Error(err, "Invalid roster, replacing it")
	}
	p.Report = roster.ReportOf(job.Annotations)
	return p
}

func (r *Reconciler) observePods(ctx context.Context, s *scope) error {
	var list corev1.PodList
	err := r.Client.List(ctx, &list, client.InNamespace(s.job.Namespace), client.MatchingFields{ownerIndex: string(s.job.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	s.pods, s.nodes = map[int]*corev1.Pod{}, map[string]*corev1.Node{}
	for i := range list.Items {
		pod := &list.Items[i]
		index, isWorker := plan.IndexOf(pod, s.job.Name)
		isServer := pod.Name == plan.RendezvousName(s.job.Name)
		if !isWorker && !isServer {
			continue
		}
		if err := r.observeNode(ctx, s, pod.Spec.NodeName); err != nil {
			return err
		}
		observed := policy.Observe(pod, s.nodes[pod.Spec.NodeName], s.facts.Settings.LostNode, s.facts.Now)
		if isServer {
			s.server, s.serverLost = pod, observed.Node == policy.NodeLost
			continue
		}
		s.pods[index], s.facts.Pods[index] = pod, observed
	}
	return nil
}

func (r *Reconciler) observeServices(ctx context.Context, s *scope) error {
	var list corev1.ServiceList
	err := r.Client.List(ctx, &list, client.InNamespace(s.job.Namespace), client.MatchingFields{ownerIndex: string(s.job.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing services: %w", err)
	}
	s.services = map[int]*corev1.Service{}
	for i := range list.Items {
		service := &list.Items[i]
		if index, isWorker := plan.IndexOf(service, s.job.Name); isWorker {
			s.services[index] = service
		} else if service.Name == plan.RendezvousName(s.job.Name) {
			s.serverService = service
		}
	}
	return nil
}

// observeNode reads a node unless it has already been read. Before a node is considered lost, it is read live, because its workers may
// still be running when they are replaced, and the cache may be incomplete or stale.
func (r *Reconciler) observeNode(ctx context.Context, s *scope, name string) (err error) {
	if _, known := s.nodes[name]; known || name == "" {
		return nil
	}
	s.nodes[name], err = readNode(ctx, r.Client, name)
	if err == nil && policy.Lost(s.nodes[name], s.facts.Settings.LostNode, s.facts.Now) {
		s.nodes[name], err = readNode(ctx, r.Live, name)
	}
	return err
}

// readNode reads a node. It returns nil if the node does not exist.
func readNode(ctx context.Context, reader client.Reader, name string) (*corev1.Node, error) {
	node := &corev1.Node{}
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("getting node %s: %w", name, err))
	}
	return node, nil
}
