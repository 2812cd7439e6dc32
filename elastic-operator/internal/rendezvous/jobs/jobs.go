// Package jobs knows which jobs a server serves, and which of them a key belongs to. Pure.
package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Errors of Parse.
var (
	ErrNone      = errors.New("no job is given")
	ErrMalformed = errors.New("not <namespace>/<name> or <namespace>/<name>=<run id>")
	ErrTwice     = errors.New("two jobs have the same run id")
)

// Table is the jobs of a server.
type Table struct {
	names []string
	byID  map[string]string // run id -> job
}

// Parse reads entries of the form <namespace>/<name>=<run id>, or <namespace>/<name>. A job is served under its run id and under its name, which is what
// agents of torchelastic 0.2 and the legacy environment say. A name that several jobs have is served for none of them.
func Parse(entries []string) (*Table, error) {
	t := &Table{byID: map[string]string{}}
	shared := map[string]int{}
	for _, entry := range entries {
		job, id, err := parseEntry(entry)
		if err != nil {
			return nil, err
		}
		if slices.Contains(t.names, job) {
			return nil, fmt.Errorf("%w: %q", ErrTwice, job)
		}
		t.names = append(t.names, job)
		shared[bare(job)]++
		if id == "" {
			continue
		}
		if other, ok := t.byID[id]; ok {
			return nil, fmt.Errorf("%w: %q of %s and %s", ErrTwice, id, other, job)
		}
		t.byID[id] = job
	}
	if len(t.names) == 0 {
		return nil, ErrNone
	}
	for _, job := range t.names {
		name := bare(job)
		if _, taken := t.byID[name]; !taken && shared[name] == 1 {
			t.byID[name] = job
		}
	}
	return t, nil
}

func parseEntry(entry string) (job, id string, err error) {
	job, id, named := strings.Cut(strings.TrimSpace(entry), "=")
	namespace, name, ok := strings.Cut(job, "/")
	if !ok || namespace == "" || name == "" || strings.ContainsAny(name+id, "/ ") || named && id == "" {
		return "", "", fmt.Errorf("%w: %q", ErrMalformed, entry)
	}
	return job, id, nil
}

func bare(job string) string { return job[strings.LastIndexByte(job, '/')+1:] }

// Names are the jobs as <namespace>/<name>, in the order in which they were given.
func (t *Table) Names() []string { return t.names }

// Job returns the job of a run id. Workers that restart in place meet under another one each time: the run id, and behind it two numbers.
func (t *Table) Job(id string) (string, bool) {
	if job, ok := t.byID[id]; ok {
		return job, true
	}
	job, ok := t.byID[ofRestart.ReplaceAllString(id, "")]
	return job, ok
}

var ofRestart = regexp.MustCompile(`-[0-9]{1,16}-[0-9]{1,16}$`)
