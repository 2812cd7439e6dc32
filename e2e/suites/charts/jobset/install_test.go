//go:build e2e

package jobset

import (
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/helm"
)

const (
	releaseName = "holdfast"
	namespace   = "e2e-chart"            // of the release; accepts only restricted pods
	jobs        = "e2e-chart-jobs"       // of the JobSet guarded, whose agents are privileged
	restricted  = "e2e-chart-restricted" // of the JobSet supervised; accepts only restricted pods
	guarded     = "guarded"
	supervised  = "supervised"
	fullname    = "holdfast-jobset-controller"
	size        = 4
)

// values returns values that install everything needed for in-place restarts and that fit a machine with two cores.
func values() helm.Values {
	v := helm.ImageValues()
	small := helm.Values{"requests": helm.Values{"cpu": "10m", "memory": "32Mi"}, "limits": helm.Values{"memory": "512Mi"}}
	node := helm.Values{framework.NodePool: "pool-1"} // has the images
	v["resources"], v["nodeSelector"] = small, node
	for name, more := range map[string]helm.Values{
		"orchestrator": {"enabled": true, "resources": small, "leaseDuration": "5s"},
		"injection":    {"execImage": helm.Image(framework.ExecImage), "agentImage": helm.Image(framework.AgentImage)},
		"valkey":       {"enabled": true, "resources": small, "nodeSelector": node, "agents": 100},
	} {
		component, there := v[name].(helm.Values)
		if !there {
			component = helm.Values{}
			v[name] = component
		}
		for key, value := range more {
			component[key] = value
		}
	}
	return v
}

// One release, from its installation to its removal. Later steps depend on earlier ones.
func TestTheLifeCycleOfAnInstallation(t *testing.T) {
	c := start(t)
	c.must(c.release.Install(c.ctx, values()))

	c.step("the pods are ready, do not run as root, and have the permissions that they need", func() {
		for pod, containers := range map[string][]string{"manager": {"manager", "orchestrator"}, "valkey": {"valkey"}} {
			c.checkPod(c.pod(pod), containers)
		}
	})

	c.step("an invalid timeout is rejected with the path of its field", c.checkRefusal)

	js, workers := c.startJobSet()
	c.step("a killed worker restarts all in place", func() {
		c.signal(workers, 1, unix.SIGKILL)
		workers = c.awaitRestarted(js, workers)
		c.awaitRound(js, 1)
	})

	c.step("the supervisor restarts workers in a namespace of restricted pods", func() {
		other := c.startSupervised()
		c.killSupervised(other, 1)
		c.checkStrangers(other, js)
	})

	c.step("a store without data gets its users and its groups again, and no worker is stopped", func() {
		c.replaceStore()
		c.awaitRound(js, 1)
		c.checkUntouched(js, workers)
		c.signal(workers, 0, unix.SIGKILL)
		workers = c.awaitRestarted(js, workers)
		c.awaitRound(js, 2)
	})

	c.step("a rotated password reaches the pods", func() { c.rotate(js) })

	c.step("an upgrade replaces the controller and touches neither the store nor the JobSet", func() {
		store, manager := c.pod("valkey").UID, c.pod("manager").UID
		secrets := c.secrets()
		changed := values()
		changed["logLevel"], changed["commonLabels"] = "debug", helm.Values{"upgraded": "yes"}
		c.must(c.release.Upgrade(c.ctx, changed))
		if c.pod("manager").UID == manager {
			c.Error("the manager's pod is still the old one")
		}
		if c.pod("valkey").UID != store {
			c.Error("the store's pod was replaced")
		}
		if c.secrets() != secrets {
			c.Error("the store has another password or certificate")
		}
		c.checkUntouched(js, workers)
		c.signal(workers, 2, unix.SIGUSR1)
		workers = c.awaitRestarted(js, workers)
		c.awaitRound(js, 3)
		c.checkNothingForbidden(c.pod("manager"), "manager", "orchestrator")
		c.checkRefusal()
	})

	c.step("uninstalling keeps the definition and the running JobSets, and nothing else", func() {
		c.must(c.release.Uninstall())
		c.checkUninstalled()
		c.checkUntouched(js, workers)
	})
}

// checkPod fails the test unless each container runs as the user that its image and the chart set, and not as root.
func (c *installation) checkPod(pod corev1.Pod, containers []string) {
	c.Helper()
	for _, status := range pod.Status.ContainerStatuses {
		if !status.Ready || status.RestartCount > 0 {
			c.Errorf("%s/%s: ready %v, %d restarts", pod.Name, status.Name, status.Ready, status.RestartCount)
		}
	}
	for _, name := range containers {
		if uid := c.uid(pod, name); uid == 0 {
			c.Errorf("%s/%s runs as root", pod.Name, name)
		}
	}
	c.checkNothingForbidden(pod, containers...)
}
