//go:build envtest

package app

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

func TestRunManagesJobSetsUntilItIsStopped(t *testing.T) {
	cluster, k8s := startCluster(t)
	health := sandbox.FreeAddress(t)
	stop := start(t, cluster, parse(t, "--metrics-bind-address=0", "--health-probe-bind-address="+health, "--leader-elect", "--leader-election-namespace=default"))
	eventually(t, "readyz is not OK", func() bool { return isOK("http://" + health + "/readyz") })

	js := MakeJobSet("a").Workers(1).Namespace("default").Obj()
	if err := k8s.Create(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job is not created", func() bool {
		return k8s.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "a-workers-0"}, &batchv1.Job{}) == nil
	})
	asked := time.Now()
	stop()
	if took := time.Since(asked); took > 20*time.Second {
		t.Errorf("it took %s to stop", took)
	}
}

func TestRunWithoutTheCRD(t *testing.T) {
	cluster, _ := apiserver.ForTest(t, NewScheme())
	o := parse(t, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	o.KindPatience = time.Second
	err := o.Run(t.Context(), cluster)
	if err == nil || !strings.Contains(err.Error(), "install its CustomResourceDefinition first") {
		t.Errorf("got %v", err)
	}
}

func eventually(t *testing.T, complaint string, done func() bool) {
	t.Helper()
	sandbox.Eventually(t, func() string {
		if done() {
			return ""
		}
		return complaint
	})
}
