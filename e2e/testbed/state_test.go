package testbed

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

func TestCertificatesAreCreatedOnce(t *testing.T) {
	layout := Layout{cache: t.TempDir()}
	if err := layout.create(); err != nil {
		t.Fatal(err)
	}
	if err := layout.ensureCertificates(layout.nodes(1)); err != nil {
		t.Fatal(err)
	}
	before := contents(t, layout.State())
	if err := layout.ensureCertificates(layout.nodes(2)); err != nil {
		t.Fatal(err)
	}
	after := contents(t, layout.State())
	for file, content := range before {
		if after[file] != content {
			t.Errorf("%s was recreated", file)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", layout.componentKubeconfig("node-2"))
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://10.87.0.1:6443" || len(config.CertData) == 0 || len(config.CAData) == 0 {
		t.Errorf("node-2's kubeconfig leads to %s", config.Host)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		valid   bool
	}{
		"the defaults":                  {Options{}, true},
		"two nodes":                     {Options{Nodes: 2}, true},
		"a negative number of nodes":    {Options{Nodes: -1}, false},
		"more nodes than addresses":     {Options{Nodes: 255}, false},
		"the kubelet's shortest period": {Options{KubeletRestartPeriod: time.Second}, true},
		"shorter than the kubelet's":    {Options{KubeletRestartPeriod: time.Millisecond}, false},
		"longer than the kubelet's":     {Options{KubeletRestartPeriod: time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.options.defaulted().validate(); (err == nil) != test.valid {
				t.Errorf("got %v", err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "options.json")
	saved := Options{Nodes: 2, KubeletRestartPeriod: time.Second, Args: map[string][]string{"kubelet": {"--v=4"}}}
	if err := saved.save(file); err != nil {
		t.Fatal(err)
	}
	loaded, err := loadOptions(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(saved, loaded); diff != "" {
		t.Errorf("options (-saved +loaded):\n%s", diff)
	}
}

func TestOnlyMountsBelowTheTestbedsFoldersAreFound(t *testing.T) {
	const table = `22 1 254:0 / / rw - ext4 /dev/vda rw
30 22 0:5 / /run/holdfast rw - tmpfs tmpfs rw
31 30 0:6 / /run/holdfast/node-1/a\040b rw - overlay overlay rw
32 22 0:7 / /run/holdfast-other rw - tmpfs tmpfs rw
33 22 0:8 / /var/lib/docker rw - tmpfs tmpfs rw
`
	want := []string{"/run/holdfast/node-1/a b", "/run/holdfast"}
	if diff := cmp.Diff(want, parseMountsBelow(table, "/run/holdfast", "/home/user/.cache/holdfast/testbed")); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestTakesPods(t *testing.T) {
	started := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	heard := func(at time.Time) []corev1.NodeCondition {
		return []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(at)},
		}
	}
	ready := heard(started.Truncate(time.Second))
	for name, test := range map[string]struct {
		conditions []corev1.NodeCondition
		taints     []corev1.Taint
		takes      bool
	}{
		"ready":                        {ready, nil, true},
		"a taint of the user":          {ready, []corev1.Taint{{Key: "gpu"}}, true},
		"ready, the taint still there": {ready, []corev1.Taint{{Key: corev1.TaintNodeNotReady}}, false},
		"not ready": {
			[]corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}, nil, false,
		},
		"says nothing yet":               {nil, nil, false},
		"ready before the kubelet began": {heard(started.Add(-time.Second)), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			object := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
				Spec:       corev1.NodeSpec{Taints: test.taints},
				Status:     corev1.NodeStatus{Conditions: test.conditions},
			}
			if err := takesPods(object, started); (err == nil) != test.takes {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestParsePID(t *testing.T) {
	if pid, err := parsePID(`{"sandboxID":"x","pid":4711}`); err != nil || pid != 4711 {
		t.Errorf("got %d, %v", pid, err)
	}
	if _, err := parsePID(`{"pid":0}`); !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v, want ErrNotRunning", err)
	}
	if _, err := parsePID(""); err == nil {
		t.Error("no error without details")
	}
}

func TestNamedComponents(t *testing.T) {
	chosen, err := named(Options{}.components(), []string{"ctr", apiServer})
	if err != nil || len(chosen) != 2 || chosen[0].Name != "ctr" || chosen[1].Name != apiServer {
		t.Errorf("got %v, %v", chosen, err)
	}
	if _, err := named(Options{}.components(), []string{kubeProxy}); err == nil {
		t.Error("the proxy is built although no option requests it")
	}
	proxied := Options{KubeProxy: true}.components()
	if !slices.Contains([]string{proxied[len(proxied)-1].Name}, kubeProxy) {
		t.Error("the option does not add the proxy")
	}
}

func TestOnlyProgramsThatWorkInTheTestbedsFoldersAreFound(t *testing.T) {
	layout := Layout{cache: "/cache/holdfast"}
	for name, test := range map[string]struct {
		found process.Found
		ours  bool
	}{
		"our etcd": {
			process.Found{Exe: "/usr/bin/etcd", Dir: "/cache/holdfast/testbed/etcd", Args: []string{"/usr/bin/etcd"}}, true,
		},
		"our kubelet, which nsenter moved to the root folder": {
			process.Found{Exe: "/cache/holdfast/bin/kubelet", Dir: "/", Args: []string{"kubelet", "--config=/cache/holdfast/testbed/config/x"}}, true,
		},
		"an API server that a test runs from our binaries": {
			process.Found{
				Exe: "/cache/holdfast/bin/kube-apiserver", Dir: "/repository",
				Args: []string{"/cache/holdfast/bin/kube-apiserver", "--cert-dir=/tmp/envtest"},
			}, false,
		},
		"somebody else's Valkey": {
			process.Found{Exe: "/usr/bin/valkey-server", Dir: "/var/lib/valkey", Args: []string{"/usr/bin/valkey-server"}}, false,
		},
		"a user who reads our logs": {
			process.Found{Exe: "/usr/bin/tail", Dir: "/cache/holdfast/testbed/logs", Args: []string{"tail", "-f", "/cache/holdfast/testbed/logs/etcd.log"}}, false,
		},
		"a process without a command": {process.Found{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := layout.runsHere(test.found); got != test.ours {
				t.Errorf("got %v, want %v", got, test.ours)
			}
		})
	}
}

func TestATestbedKeepsItsVersion(t *testing.T) {
	layout := Layout{cache: t.TempDir()}
	wanted := Options{Kubernetes: "1.34"}
	if err := checkVersion(layout, wanted); err != nil {
		t.Errorf("nothing is up: %v", err)
	}
	if err := errors.Join(wanted.save(layout.optionsFile()), writeFile(layout.Kubeconfig(), "")); err != nil {
		t.Fatal(err)
	}
	if err := checkVersion(layout, wanted); err != nil {
		t.Errorf("it runs the same version: %v", err)
	}
	if err := checkVersion(layout, Options{Kubernetes: "1.36"}); err == nil {
		t.Error("another version is started with the data of 1.34")
	}
}

func TestASuiteCanRunOnAnotherVersion(t *testing.T) {
	t.Setenv(kubernetesVariable, "1.35")
	if got := (Options{}).defaulted().Kubernetes; got != "1.35" {
		t.Errorf("got %s", got)
	}
	if got := (Options{Kubernetes: "1.34"}).defaulted().Kubernetes; got != "1.34" {
		t.Errorf("the environment overrides an option: %s", got)
	}
	t.Setenv(kubernetesVariable, "1.32")
	if err := (Options{}).defaulted().validate(); err == nil {
		t.Error("a version that cannot be built is accepted")
	}
}
