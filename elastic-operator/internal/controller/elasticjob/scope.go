package elasticjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// scope is all that one reconcile knows. observe fills it. Pods and services are shared with the cache and never changed.
type scope struct {
	job   *v1alpha1.ElasticJob
	facts policy.Facts
	// workers' pods and services by index.
	pods     map[int]*corev1.Pod
	services map[int]*corev1.Service
	// server is the pod of the managed rendezvous, serverLost that its node is lost; serverService its service.
	server        *corev1.Pod
	serverLost    bool
	serverService *corev1.Service
	// rendezvous is what the status is to say of it.
	rendezvous *v1alpha1.RendezvousStatus
	// askAgain is when to ask it again; 0 if it is not asked.
	askAgain time.Duration
}
