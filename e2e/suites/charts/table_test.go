//go:build e2e

package charts

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// images maps images to binaries from `make build` in bin. suites.StartForCharts loads those of the JobSet chart.
var images = map[string]string{
	appWrapperImage: "appwrapper-manager", elasticImage: "elastic-manager", rendezvousImage: "rendezvous",
	reschedulerImage: "rescheduler-manager", schedulerImage: "rescheduler-scheduler",
}

const (
	appWrapperImage  = "localhost/holdfast/appwrapper-manager:dev"
	elasticImage     = "localhost/holdfast/elastic-manager:dev"
	rendezvousImage  = "localhost/holdfast/rendezvous:dev"
	reschedulerImage = "localhost/holdfast/rescheduler-manager:dev"
	schedulerImage   = "localhost/holdfast/rescheduler-scheduler:dev"
)

// chart is a chart that a user can install.
type chart struct {
	name   string
	values func() helm.Values
	// pods is the number of its pods on the newest version of Kubernetes.
	pods int
	// crd is the name of its CRD; empty: none.
	crd string
	// sample is a file in testdata.
	sample string
	// worked returns an error until the chart's program has handled a sample.
	worked func(sample *unstructured.Unstructured) error
}

var charts = []chart{
	{
		name: "jobset-controller", pods: 2, crd: "jobsets.jobset.x-k8s.io", sample: "jobset.yaml",
		values: func() helm.Values {
			v := helm.ImageValues()
			for name, more := range map[string]helm.Values{
				"orchestrator": {"enabled": true, "resources": small, "leaseDuration": "5s"},
				"injection":    {"execImage": helm.Image(framework.ExecImage), "agentImage": helm.Image(framework.AgentImage)},
				"valkey":       {"enabled": true, "resources": small, "nodeSelector": node, "agents": 100},
			} {
				component, _ := v[name].(helm.Values)
				v[name] = merged(component, more)
			}
			return v
		},
		worked: func(o *unstructured.Unstructured) error {
			return is("the count of restarts in place", o.GetAnnotations()["alpha.jobset.sigs.k8s.io/inplace-restarts"], "0")
		},
	},
	{
		name: "appwrapper-controller", pods: 1, crd: "appwrappers.workload.codeflare.dev", sample: "appwrapper.yaml",
		values: func() helm.Values { return helm.Values{"image": helm.Image(appWrapperImage)} },
		worked: func(o *unstructured.Unstructured) error { return is("the phase", status(o, "phase"), "Running") },
	},
	{
		name: "elastic-operator", pods: 1, crd: "elasticjobs.elastic.pytorch.org", sample: "elasticjob.yaml",
		values: func() helm.Values {
			return helm.Values{"image": helm.Image(elasticImage), "rendezvous": helm.Values{"image": helm.Image(rendezvousImage)}}
		},
		// Its worker does not run an agent that joins a rendezvous, so the job never becomes Running.
		worked: func(o *unstructured.Unstructured) error {
			ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
			return is("the number of ready workers", fmt.Sprint(ready), "1")
		},
	},
	{
		name: "rescheduler", pods: 2, sample: "deployment.yaml",
		values: func() helm.Values {
			return helm.Values{"image": helm.Image(reschedulerImage), "scheduler": helm.Values{"enabled": shared.TakesScheduler(), "image": helm.Image(schedulerImage)}}
		},
		worked: func(o *unstructured.Unstructured) error {
			return is("the number of recorded moves", fmt.Sprint(memory.Read(o.GetAnnotations()).Times), "1")
		},
	},
}

// withoutScheduler removes the scheduler's pod from the expected number, for clusters whose version the scheduler does
// not support.
func withoutScheduler() {
	for i := range charts {
		if charts[i].name == "rescheduler" {
			charts[i].pods--
		}
	}
}

// Resources that fit a machine with two cores, and a selector for the node that has the images.
var (
	small = helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
	node  = helm.Values{framework.NodePool: "pool-1"}
)

// all returns the values of a release.
func (c chart) all(more helm.Values) helm.Values {
	return merged(c.values(), merged(helm.Values{"resources": small, "nodeSelector": node}, more))
}

func merged(a, b helm.Values) helm.Values {
	all := helm.Values{}
	for _, values := range []helm.Values{a, b} {
		for key, value := range values {
			all[key] = value
		}
	}
	return all
}

func is(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q, not %q", what, got, want)
	}
	return nil
}

func status(o *unstructured.Unstructured, field string) string {
	value, _, _ := unstructured.NestedString(o.Object, "status", field)
	return value
}
