package framework

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Metric returns the sum of the series of an orchestrator metric that have all the given labels, written as
// name="value".
func (env *Environment) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	all, err := env.Series(ctx, name)
	var sum float64
	for series, value := range all {
		if !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(series, label) }) {
			sum += value
		}
	}
	return sum, err
}

// Series returns the series of an orchestrator metric. The keys are the labels as written, such as
// kind="in-place",reason="exit".
func (env *Environment) Series(ctx context.Context, name string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+orchestratorMetrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading the orchestrator's metrics: %w", err)
	}
	defer response.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		own, labels, value := seriesIn(lines.Text())
		if own != name {
			continue
		}
		if all[labels], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
	}
	return all, lines.Err()
}

// seriesIn parses `name{labels} value` or `name value`.
func seriesIn(line string) (name, labels, value string) {
	series, value, found := strings.Cut(line, "} ")
	if !found {
		name, value, _ = strings.Cut(line, " ")
		return name, "", strings.TrimSpace(value)
	}
	name, labels, _ = strings.Cut(series, "{")
	return name, labels, strings.TrimSpace(value)
}

// RestartHistory returns the restart history in a JobSet's annotation.
func (env *Environment) RestartHistory(ctx context.Context, js *v1alpha2.JobSet) ([]history.Entry, error) {
	now, err := env.JobSet(ctx, js.Namespace, js.Name)
	if err != nil {
		return nil, err
	}
	return history.Parse(now.Annotations[history.Annotation])
}

// AwaitEntry waits until the restart history has an entry for the attempt, and returns the entry.
func (env *Environment) AwaitEntry(ctx context.Context, js *v1alpha2.JobSet, a history.Attempt) (history.Entry, error) {
	var entry history.Entry
	err := Until(ctx, fmt.Sprintf("restart %d.%d of %s is accounted for", a.Epoch, a.Round, js.Name), func(ctx context.Context) error {
		list, err := env.RestartHistory(ctx, js)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Attempt == a {
				entry = e
				return nil
			}
		}
		return fmt.Errorf("the history has %d entries, none of them for this attempt", len(list))
	})
	return entry, err
}
