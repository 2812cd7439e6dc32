package appwrapper

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
)

// scope is all that one reconcile knows. observe fills it; actions write down what they achieved.
type scope struct {
	// aw as observed. Its version moves on with what is written.
	aw    *v1beta2.AppWrapper
	facts policy.Facts
	// components that were looked for, in the order of the spec.
	components []wrapped
	// pods are shared with the cache and never changed.
	pods []*corev1.Pod
	// problems with annotations, to be reported once each.
	problems []settings.Problem
	// status in the making: observe and the actions keep the entries of the components up to date.
	status *v1beta2.AppWrapperStatus
	// learned: the remains have become better known by trying to remove them.
	learned bool
	// lookAgain is when a node may turn bad by itself; 0 if none does.
	lookAgain time.Duration
}

// wrapped is one component as it was found.
type wrapped struct {
	ref      reference
	presence policy.Presence
	// meta of the object; nil unless it is there.
	meta metav1.Object
	// report of the object, or of its end if it is gone.
	report health.Report
}
