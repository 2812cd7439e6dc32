//go:build e2e

package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/dashboards"
	"github.com/holdfast-project/holdfast/e2e/framework/picture"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed/prometheus"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	ns      = "e2e-metrics"
	workers = 8
	window  = 30 * time.Second // of rates; Prometheus scrapes every second here
	step    = 2 * time.Second
)

// TestEveryPanelHasData makes the programs work, and runs the queries of each panel of each dashboard.
func TestEveryPanelHasData(t *testing.T) {
	defer explain(t) // before the objects are cleaned up
	must(t, shared.Namespace(t.Context(), ns))
	suites.MakeQueue(t, k8s, suites.QueueOf(ns, suites.Quota{Resource: "cpu", Most: "200m"})...)
	server, err := shared.Cluster.Prometheus(t.Context(), targets(kueueProxy(t))...)
	must(t, err)
	t.Cleanup(func() {
		if err := shared.Cluster.StopPrometheus(context.Background()); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	loseAPod(t, restartInPlace(t))
	finish(t, recreate(t))
	resetAndEvict(t)
	trainElastically(t)
	leaveTheNode(t)
	failWhereItIs(t)
	doWithoutExclusions(t)
	meet(t)
	all := map[string]dashboards.Board{}
	for _, file := range []string{"reliability.json", "health.json", "quota.json"} {
		all[file], err = dashboards.Read(shared.File("charts", "library", "files", "dashboards", file))
		must(t, err)
	}
	for title := range quiet {
		if !hasPanel(all, title) {
			t.Errorf("no dashboard has a panel %q", title)
		}
	}
	if err := framework.Until(t.Context(), "every panel has data", func(ctx context.Context) error { return allHaveData(ctx, server, all, began) }); err != nil {
		t.Error(err)
	}
	countsAll(t, server, began)
	draw(t, server, all["reliability.json"], began)
}

// explain logs the pods, the events and the last log lines of the rescheduler after a failure.
func explain(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	t.Log(suites.State(context.Background(), k8s, ns))
	out, err := exec.Command("tail", "-n", "60", shared.Cluster.ProgramLog(framework.Rescheduler)).CombinedOutput()
	t.Logf("%s %v\n%s", framework.Rescheduler, err, out)
}

// countsAll checks that Prometheus also sees the first restart of each kind, although nothing was counted before.
func countsAll(t *testing.T, server prometheus.Server, began time.Time) {
	t.Helper()
	must(t, framework.Until(t.Context(), "four restarts in place and a recreation are counted", func(ctx context.Context) error {
		for kind, least := range map[string]float64{"in-place": 3.8, "recreation": 0.9} { // less than whole numbers, because Prometheus extrapolates
			query := fmt.Sprintf(`sum(increase(holdfast_restarts_total{kind=%q}[%ds]))`, kind, int(time.Since(began).Seconds()))
			samples, err := server.Query(ctx, query)
			if err != nil {
				return err
			}
			if len(samples) != 1 || samples[0].Value < least {
				return fmt.Errorf("%s: %+v", kind, samples)
			}
		}
		return nil
	}))
}

func allHaveData(ctx context.Context, server prometheus.Server, all map[string]dashboards.Board, began time.Time) error {
	var missing []error
	for _, board := range all {
		for _, panel := range board.Panels {
			if err := hasData(ctx, server, panel, began); err != nil {
				missing = append(missing, fmt.Errorf("%s, %s: %w", board.Title, panel.Title, err))
			}
		}
	}
	return errors.Join(missing...)
}

// quiet lists panels that show zero in a healthy run, or for which this run has no cause.
var quiet = map[string]string{
	"Timeouts": "no restart times out",
	"Recreated because a worker did not join": "all join",
	"Workers that have not joined":            "all join at once",
	"Recreations of single Jobs":              "no rule requires it",
	"Circuit breaker":                         "one move opens no breaker",
	"Errors":                                  "there may be none",
	"Errors of webhooks":                      "no webhook panics, and the API server is not scraped here",
	"Failed calls":                            "the store responds",
	"Rejected calls":                          "no leader was replaced",
	"Waiting objects":                         "queues are empty when they are scraped",
	"Waiting":                                 "there is one workload, and quota for it",
	"Quota held by incomplete AppWrappers":    "quota is held for less than a scrape interval",
	"Evictions":                               "there is one, and Kueue's counter starts with it",
	"Wait for admission, 90th percentile":     "there is one, and Kueue's histogram starts with it",
}

func hasPanel(all map[string]dashboards.Board, title string) bool {
	for _, board := range all {
		if slices.ContainsFunc(board.Panels, func(p dashboards.Panel) bool { return p.Title == title }) {
			return true
		}
	}
	return false
}

// hasData fails if no query of the panel had a value above zero during the run. For quiet panels any value suffices.
func hasData(ctx context.Context, server prometheus.Server, panel dashboards.Panel, began time.Time) error {
	found := 0
	for _, query := range panel.Queries {
		tracks, err := server.Range(ctx, query.Plain(window, time.Since(began)), began, time.Now(), step)
		if err != nil {
			return err
		}
		for _, track := range tracks {
			if slices.ContainsFunc(track.Points, func(p prometheus.Point) bool { return p.Value > 0 && !math.IsInf(p.Value, 0) }) {
				return nil
			}
			found++
		}
	}
	switch {
	case found == 0:
		return errors.New("there is no data")
	case quiet[panel.Title] == "":
		return errors.New("all values are zero")
	}
	return nil
}

// restartInPlace kills a worker of the example with one annotation, three times.
func restartInPlace(t *testing.T) *v1alpha2.JobSet {
	t.Helper()
	js := startJobSet(t, "one-annotation.yaml")
	for round := range int64(3) {
		_, err := shared.AwaitPhase(t.Context(), js, coordination.Running, 1, round)
		must(t, err)
		kill(t, js, int(round))
	}
	_, err := shared.AwaitPhase(t.Context(), js, coordination.Running, 1, 3)
	must(t, err)
	return js
}

// loseAPod deletes a pod of a group that has restarted three times.
func loseAPod(t *testing.T, js *v1alpha2.JobSet) {
	t.Helper()
	all, err := shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	_, err = shared.DeletePod(t.Context(), all[framework.IDs(all)[0]])
	must(t, err)
	_, err = shared.AwaitPhase(t.Context(), js, coordination.Running, 1, 4)
	must(t, err)
}

// recreate kills a worker of a JobSet that handles failures by recreation.
func recreate(t *testing.T) *v1alpha2.JobSet {
	t.Helper()
	js := startJobSet(t, "recreate.yaml")
	kill(t, js, 0)
	must(t, framework.Until(t.Context(), "the JobSet is recreated", func(ctx context.Context) error {
		now, err := shared.JobSet(ctx, ns, js.Name)
		if err == nil && now.Status.Restarts != 1 {
			err = fmt.Errorf("it has restarted %d times", now.Status.Restarts)
		}
		return err
	}))
	return js
}

func startJobSet(t *testing.T, example string) *v1alpha2.JobSet {
	t.Helper()
	js, err := shared.Load(ns, shared.File("examples", example))
	must(t, err)
	delete(js.Annotations, v1alpha2.ExclusiveKey)
	must(t, shared.Client.Create(t.Context(), js))
	t.Cleanup(func() { _ = shared.Remove(context.Background(), ns, js.Name) })
	_, err = shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	return js
}

func kill(t *testing.T, js *v1alpha2.JobSet, n int) {
	t.Helper()
	all, err := shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	_, err = shared.Signal(t.Context(), all[framework.IDs(all)[n]], unix.SIGKILL)
	must(t, err)
}

const failing = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"failing"},"spec":{"restartPolicy":"Never","containers":[{"name":"worker",
"image":"localhost/holdfast/worker:dev","imagePullPolicy":"IfNotPresent","command":["/no-such-program"],"resources":{"requests":{"cpu":"100m"}}}]}}`

// resetAndEvict makes an AppWrapper fail, so that it is reset, and then evicts it from its quota.
func resetAndEvict(t *testing.T) {
	t.Helper()
	aw := &v1beta2.AppWrapper{
		ObjectMeta: metav1.ObjectMeta{Name: "failing", Namespace: ns, Labels: map[string]string{v1beta2.QueueLabel: "queue"}, Annotations: map[string]string{
			v1beta2.RetryPausePeriodKey: "1s", v1beta2.FailureGracePeriodKey: "1s", v1beta2.RetryLimitKey: "20",
		}},
		Spec: v1beta2.AppWrapperSpec{Components: []v1beta2.AppWrapperComponent{{Template: runtime.RawExtension{Raw: []byte(failing)}}}},
	}
	must(t, k8s.Create(t.Context(), aw))
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), aw) })
	must(t, framework.Until(t.Context(), "the AppWrapper is reset", func(ctx context.Context) error {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(aw), aw)
		if err == nil && aw.Status.Retries == 0 {
			err = fmt.Errorf("it is %s", aw.Status.Phase)
		}
		return err
	}))
	evict(t)
}

// failWhereItIs creates a pod that may be moved, and whose node rejects it because of a sysctl, so that the rescheduler
// handles it.
func failWhereItIs(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "abnormal", Namespace: ns, Annotations: map[string]string{"schedulingRetries": "1"}},
		Spec: corev1.PodSpec{
			RestartPolicy:   corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.core.somaxconn", Value: "1024"}}},
			Containers:      []corev1.Container{{Name: "worker", Image: "localhost/holdfast/worker:dev", ImagePullPolicy: corev1.PullIfNotPresent}},
		},
	}
	must(t, k8s.Create(t.Context(), pod))
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
}

// doWithoutExclusions makes the second scheduler place a pod with an invalid annotation.
func doWithoutExclusions(t *testing.T) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "unreadable", Namespace: ns, Annotations: map[string]string{"sigs.k8s.io/scheduledHosts": "["}},
		Spec: corev1.PodSpec{
			SchedulerName: "holdfast-scheduler",
			Containers:    []corev1.Container{{Name: "worker", Image: "localhost/holdfast/worker:dev", ImagePullPolicy: corev1.PullIfNotPresent}},
		},
	}
	must(t, k8s.Create(t.Context(), pod))
	t.Cleanup(func() { _ = k8s.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
	must(t, framework.Until(t.Context(), "the pod has a node", func(ctx context.Context) error {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)
		if err == nil && pod.Spec.NodeName == "" {
			err = errors.New("it has none")
		}
		return err
	}))
}

// draw writes the dashboard of the run as a picture.
func draw(t *testing.T, server prometheus.Server, board dashboards.Board, began time.Time) {
	t.Helper()
	now := time.Now()
	var panels []picture.Panel
	for _, p := range board.Panels {
		panel := picture.Panel{Title: p.Title, Unit: p.Unit, Number: p.Kind == "stat", Stack: p.Stacked}
		for _, query := range p.Queries {
			tracks, err := server.Range(t.Context(), query.Plain(window, now.Sub(began)), began, now, step)
			must(t, err)
			panel.Series = append(panel.Series, series(query, tracks)...)
		}
		panels = append(panels, panel)
	}
	svg := picture.SVG(board.Title, began, now, panels)
	if file := os.Getenv("HOLDFAST_PICTURE"); file != "" {
		must(t, os.WriteFile(file, []byte(svg), 0o644))
	}
	if !strings.Contains(svg, "in-place") || len(panels) != len(board.Panels) {
		t.Error("the picture does not show the restarts in place")
	}
}

func series(query dashboards.Query, tracks []prometheus.Track) []picture.Series {
	var all []picture.Series
	for _, track := range tracks {
		s := picture.Series{Name: query.Name(track.Labels)}
		for _, p := range track.Points {
			s.Points = append(s.Points, picture.Point{Time: p.Time, Value: p.Value})
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b picture.Series) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
