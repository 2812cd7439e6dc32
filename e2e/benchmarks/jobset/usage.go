package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// counters holds a manager's counters since its start.
type counters struct {
	CPU        float64            // seconds
	Calls      map[string]float64 // to the API server, by method
	Webhooks   float64            // calls by the API server
	Reconciles float64            // of JobSets
	Allocated  float64            // bytes
}

// usage is what one phase used.
type usage struct {
	Seconds    float64            `json:"seconds"`
	CPU        float64            `json:"cpuSeconds"`
	MemoryMiB  float64            `json:"peakMiB"`
	Calls      map[string]float64 `json:"apiCalls"`
	Webhooks   float64            `json:"webhookCalls"`
	Reconciles float64            `json:"reconciles"`
	Allocated  float64            `json:"allocatedMiB"`
}

func (u usage) calls() float64 {
	var n float64
	for _, calls := range u.Calls {
		n += calls
	}
	return n
}

func (c counters) since(before counters) usage {
	u := usage{
		CPU: c.CPU - before.CPU, Webhooks: c.Webhooks - before.Webhooks, Reconciles: c.Reconciles - before.Reconciles,
		Allocated: (c.Allocated - before.Allocated) / (1 << 20), Calls: map[string]float64{},
	}
	for method, calls := range c.Calls {
		if n := calls - before.Calls[method]; n > 0 {
			u.Calls[method] = n
		}
	}
	return u
}

// scraper returns a function that reads the manager's metrics. The manager serves them only to authorized accounts.
func scraper(ctx context.Context, env *framework.Environment) (func(context.Context) (counters, error), error) {
	web, err := env.Scraper(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (counters, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+metrics+"/metrics", nil)
		if err != nil {
			return counters{}, err
		}
		response, err := web.Do(request)
		if err != nil {
			return counters{}, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return counters{}, fmt.Errorf("the manager's metrics: %s", response.Status)
		}
		return read(response.Body)
	}, nil
}

var (
	sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([0-9.eE+-]+)$`)
	method = regexp.MustCompile(`method="([A-Z]+)"`)
)

// read sums up the counters in a Prometheus exposition.
func read(from io.Reader) (counters, error) {
	c := counters{Calls: map[string]float64{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := sample.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			continue
		}
		switch m[1] {
		case "process_cpu_seconds_total":
			c.CPU = value
		case "rest_client_requests_total":
			if of := method.FindStringSubmatch(m[2]); of != nil {
				c.Calls[of[1]] += value
			}
		case "controller_runtime_webhook_requests_total":
			c.Webhooks += value
		case "controller_runtime_reconcile_total":
			if strings.Contains(m[2], `controller="jobset"`) {
				c.Reconciles += value
			}
		case "go_memstats_alloc_bytes_total":
			c.Allocated = value
		}
	}
	return c, lines.Err()
}
