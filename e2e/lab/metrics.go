package lab

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/history"
)

// Metric adds up the series of a metric of the orchestrator that carry all of the labels, given as name="value".
func (l *Lab) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+orchestratorMetrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("reading the orchestrator's metrics: %w", err)
	}
	defer response.Body.Close()
	var sum float64
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		value, err := valueIn(lines.Text(), name, labels)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, lines.Err()
}

// valueIn is 0 if the line is about something else.
func valueIn(line, name string, labels []string) (float64, error) {
	series, value, found := strings.Cut(line, "} ")
	if !found {
		series, value, found = strings.Cut(line, " ")
	}
	own, _, _ := strings.Cut(series, "{")
	if !found || own != name {
		return 0, nil
	}
	for _, label := range labels {
		if !strings.Contains(series, label) {
			return 0, nil
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return 0, fmt.Errorf("metric %s: %w", name, err)
	}
	return n, nil
}

// RestartHistory reads the account of a JobSet's restarts.
func (l *Lab) RestartHistory(ctx context.Context, js *v1alpha2.JobSet) ([]history.Entry, error) {
	now, err := l.JobSet(ctx, js.Namespace, js.Name)
	if err != nil {
		return nil, err
	}
	return history.Parse(now.Annotations[history.Annotation])
}

// AwaitEntry returns the account of one restart.
func (l *Lab) AwaitEntry(ctx context.Context, js *v1alpha2.JobSet, a history.Attempt) (history.Entry, error) {
	var entry history.Entry
	err := Until(ctx, fmt.Sprintf("restart %d.%d of %s is accounted for", a.Epoch, a.Round, js.Name), func(ctx context.Context) error {
		list, err := l.RestartHistory(ctx, js)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Attempt == a {
				entry = e
				return nil
			}
		}
		return fmt.Errorf("the history has %d others", len(list))
	})
	return entry, err
}
