package elasticjob

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

type nobody struct{}

func (nobody) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A node may reject the server within milliseconds. The server is recreated after a pause.
func TestRejectedServerIsRecreatedAfterAPause(t *testing.T) {
	job := MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { j.UID, j.Spec.RdzvEndpoint = "uid", "" }).Obj()
	for age, stays := range map[time.Duration]bool{time.Second: true, restartPause: false} {
		server := plan.RendezvousPod(job, "image:1", nil, 0)
		server.CreationTimestamp, server.Status.Phase = metav1.NewTime(noon.Add(-age)), corev1.PodFailed
		c := fake.NewClientBuilder().WithObjects(server).Build()
		r := New(Options{Client: c, Recorder: nobody{}, RendezvousImage: "image:1"})
		s := &scope{job: job, server: server, serverService: &corev1.Service{}, facts: policy.Facts{Now: noon}}
		if err := r.ensureRendezvous(t.Context(), s, &policy.Decision{Rendezvous: true, Status: &v1alpha1.ElasticJobStatus{}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(server), &corev1.Pod{}); (err == nil) != stays || (s.requestAfter > 0) != stays {
			t.Errorf("after %s: %v, again after %s", age, err, s.requestAfter)
		}
	}
}

// A server from an earlier release has different flags. It is replaced when the run changes, not when the operator is
// upgraded.
func TestServesComparesOnlyTheRun(t *testing.T) {
	for arg, want := range map[string]bool{"--run-id=uid": true, "--jobs=ns/a=uid": true, "--run-id=uid-1": false, "--run-id=": false} {
		server := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"--listen=:29400", arg}}}}}
		if got := serves(server, "uid"); got != want {
			t.Errorf("%s: %v", arg, got)
		}
	}
}

func TestHTTPRendezvous(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answer == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	for _, answer = range []string{"", "[]", "{"} {
		if _, err := HTTPRendezvous(t.Context(), server.URL); err == nil {
			t.Errorf("%q was accepted", answer)
		}
	}
	answer = `{"round":3,"complete":true,"restarts":2,"participants":4,"waiting":1,"closed":true,"message":"why"}`
	got, err := HTTPRendezvous(t.Context(), server.URL)
	want := v1alpha1.RendezvousStatus{Round: 3, Complete: true, Restarts: 2, Participants: 4, Waiting: 1, Closed: true, Message: "why"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
