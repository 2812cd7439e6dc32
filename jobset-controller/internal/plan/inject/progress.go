package inject

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// Progress describes what a worker must report so that it is not considered hung. The zero value requires nothing.
type Progress struct {
	// Timeout is the maximum time between two reports. Start is the maximum time until the first one; 0 means no limit.
	Timeout, Start time.Duration
	// From is the source of the reports.
	From string
}

const (
	fromFile   = "file"
	fromOutput = "output"
	// leastSilence is the shortest allowed timeout. There is a minimum because the supervisor checks eight times within
	// each timeout.
	leastSilence = time.Second
)

// asksForProgress lists the annotations for progress reports in the order in which they are read.
var asksForProgress = []string{v1alpha2.ProgressTimeoutKey, v1alpha2.ProgressStartTimeoutKey, v1alpha2.ProgressFromKey}

// findProgress reads the annotations for progress reports, which only the supervisor can receive.
func (t *template) findProgress() field.ErrorList {
	var errs field.ErrorList
	t.Progress.Timeout = t.silence(v1alpha2.ProgressTimeoutKey, &errs)
	t.Progress.Start = t.silence(v1alpha2.ProgressStartTimeoutKey, &errs)
	if t.Progress.Timeout > 0 {
		t.Progress.From = fromFile
	}
	if value, path, found := t.annotation(v1alpha2.ProgressFromKey); found {
		t.Progress.From = value
		if sources := []string{fromFile, fromOutput}; !slices.Contains(sources, value) {
			errs = append(errs, field.NotSupported(path, value, sources))
		}
		if value == fromOutput && t.Driver == Exec && t.worker().TTY { // output is copied through a pipe, which is not a terminal
			errs = append(errs, field.Invalid(path, value, "the worker has a terminal (tty), so its output cannot be monitored"))
		}
	}
	return append(errs, t.cannotShowProgress()...)
}

func (t *template) silence(key string, errs *field.ErrorList) time.Duration {
	value, path, found := t.annotation(key)
	if !found {
		return 0
	}
	d, err := grace.Rule{Name: "annotation " + key, Minimum: leastSilence}.Parse(value)
	if err == nil && d == 0 {
		*errs = append(*errs, field.Required(path, "set a duration of 1s or more, such as 2m"))
	} else if err != nil {
		*errs = append(*errs, field.Invalid(path, value, err.Error()))
	}
	return d
}

// cannotShowProgress rejects progress annotations that would have no effect, because users would rely on them.
func (t *template) cannotShowProgress() field.ErrorList {
	for _, key := range asksForProgress {
		_, path, found := t.annotation(key)
		switch {
		case found && t.Driver == CRI:
			return field.ErrorList{field.Forbidden(path, "progress detection requires the exec driver")}
		case found && key != v1alpha2.ProgressTimeoutKey && !t.has(v1alpha2.ProgressTimeoutKey):
			return field.ErrorList{field.Forbidden(path, "it has no effect without "+v1alpha2.ProgressTimeoutKey)}
		}
	}
	return nil
}

func (t *template) has(key string) bool {
	_, _, found := t.annotation(key)
	return found
}

// flags returns the supervisor's flags. Environment variables are not used, because the worker's own variables could
// have the same names.
func (p Progress) flags() []string {
	if p.Timeout == 0 {
		return nil
	}
	list := []string{"--progress-timeout=" + p.Timeout.String(), "--progress-from=" + p.From}
	if p.Start > 0 {
		list = append(list, "--progress-start-timeout="+p.Start.String())
	}
	return list
}
