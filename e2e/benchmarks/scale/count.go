package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
)

// Names of the programs in results.
const (
	manager      = "manager"
	orchestrator = "orchestrator"
	everybody    = "all"
	self         = results.Players
)

// programs are the measured programs.
var programs = results.Programs

// processes maps these names to processes of the testbed.
var processes = map[string]string{
	manager: managerName, orchestrator: orchestratorName,
	"kube-apiserver": "kube-apiserver", "etcd": "etcd", "kube-controller-manager": "kube-controller-manager", "kube-scheduler": "kube-scheduler",
}

const etcdMetrics = "http://127.0.0.1:23790/metrics"

// counters holds the counters of all programs since their start.
type counters struct {
	at    time.Time
	usage results.Usage
}

// since returns the usage between two readings. Peaks and sizes are taken from the later reading.
func (c counters) since(before counters) results.Usage {
	u := c.usage
	u.Seconds = c.at.Sub(before.at).Seconds()
	u.EtcdWrites -= before.usage.EtcdWrites
	u.Inside -= before.usage.Inside
	u.Calls, u.Store, u.CPU = less(u.Calls, before.usage.Calls), less(u.Store, before.usage.Store), less(u.CPU, before.usage.CPU)
	return u
}

func less(a, b map[string]float64) map[string]float64 {
	difference := map[string]float64{}
	for k, v := range a {
		if d := v - b[k]; d > 0 {
			difference[k] = d
		}
	}
	return difference
}

// count reads all counters. If clear is set, it then resets the memory peaks.
func (b *benchmark) count(ctx context.Context, clear bool) (counters, error) {
	c := counters{usage: results.Usage{Calls: map[string]float64{}, CPU: map[string]float64{}, MemoryMiB: map[string]float64{}}}
	for _, read := range []func(context.Context, *results.Usage) error{b.countCalls, b.countEtcd, b.countStore, b.countProcesses} {
		if err := read(ctx, &c.usage); err != nil {
			return c, err
		}
	}
	if clear {
		for _, name := range programs {
			if pid, err := b.pid(name); err == nil {
				_ = footprint.Forget(pid)
			}
		}
	}
	c.at = time.Now()
	return c, nil
}

func (b *benchmark) pid(name string) (int, error) {
	switch name {
	case self:
		return os.Getpid(), nil
	case results.Store:
		return b.store.PID(), nil
	}
	return b.env.Cluster.ProgramPID(processes[name])
}

func (b *benchmark) countProcesses(_ context.Context, u *results.Usage) error {
	for _, name := range programs {
		pid, err := b.pid(name)
		if err != nil {
			return err
		}
		if u.CPU[name], err = cpuOf(pid); err != nil {
			return err
		}
		if u.MemoryMiB[name], err = footprint.Peak(pid); err != nil {
			return err
		}
	}
	return nil
}

// ticksPerSecond is the unit of CPU times in /proc, on every architecture.
const ticksPerSecond = 100

// cpuOf returns the CPU time of a process in seconds.
func cpuOf(pid int) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return ticksIn(string(stat))
}

// ticksIn returns user and system time from /proc/PID/stat: fields 12 and 13 after the name, which is in parentheses.
func ticksIn(stat string) (float64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat has %d fields", len(fields))
	}
	var ticks float64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return ticks / ticksPerSecond, nil
}

// countCalls reads how many requests our programs made, and how many the API server answered.
func (b *benchmark) countCalls(ctx context.Context, u *results.Usage) error {
	for name, read := range map[string]func() (string, error){
		manager:      func() (string, error) { return get(ctx, b.manager.web, b.manager.metrics) },
		orchestrator: func() (string, error) { return get(ctx, http.DefaultClient, "http://"+orchestratorMetrics+"/metrics") },
	} {
		body, err := read()
		if err != nil {
			return err
		}
		if u.Calls[name], err = sumOf(body, "rest_client_requests_total", nil); err != nil {
			return err
		}
	}
	body, err := b.env.Kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("reading the API server's metrics: %w", err)
	}
	u.Calls[everybody], err = sumOf(string(body), "apiserver_request_total", func(labels model.Metric) bool {
		return labels["resource"] != "" && labels["verb"] != "WATCH"
	})
	return err
}

func (b *benchmark) countEtcd(ctx context.Context, u *results.Usage) error {
	body, err := get(ctx, http.DefaultClient, etcdMetrics)
	if err != nil {
		return err
	}
	for _, name := range []string{"etcd_mvcc_put_total", "etcd_mvcc_delete_total"} {
		n, err := sumOf(body, name, nil)
		if err != nil {
			return err
		}
		u.EtcdWrites += n
	}
	return nil
}

func get(ctx context.Context, web *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := web.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return string(body), err
}

// sumOf adds up the series of a metric that pass the filter, or all series if there is no filter. It returns 0 if the metric is absent.
func sumOf(exposition, name string, wanted func(model.Metric) bool) (float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	var lines strings.Builder // the API server's other metrics amount to megabytes
	for line := range strings.Lines(exposition) {
		if strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") {
			lines.WriteString(line)
		}
	}
	families, err := parser.TextToMetricFamilies(strings.NewReader(lines.String()))
	if err != nil {
		return 0, fmt.Errorf("reading metric %s: %w", name, err)
	}
	var total float64
	for _, m := range families[name].GetMetric() {
		labels := model.Metric{}
		for _, l := range m.GetLabel() {
			labels[model.LabelName(l.GetName())] = model.LabelValue(l.GetValue())
		}
		if wanted == nil || wanted(labels) {
			total += m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return total, nil
}
