package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

// span is the period in which a phase's requests are made.
type span struct{ start, end time.Time }

func (s span) contains(at time.Time) bool { return at.After(s.start) && at.Before(s.end) }

// auditEvent has the fields that are read from a line of the audit log.
type auditEvent struct {
	Verb string    `json:"verb"`
	At   time.Time `json:"requestReceivedTimestamp"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// String returns the kind of request, such as "patch jobsets/status". For a failed request it includes the status code.
func (e auditEvent) String() string {
	text := e.Verb + " " + e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		text += "/" + e.ObjectRef.Subresource
	}
	if e.ResponseStatus.Code >= 400 {
		text += fmt.Sprintf(" (%d)", e.ResponseStatus.Code)
	}
	return text
}

// readRequests counts the managers' requests in each phase, using the audit log.
func (b *benchmark) readRequests() error {
	files, err := b.env.Cluster.AuditLogs()
	if err != nil {
		return err
	}
	for i := range b.results {
		b.results[i].Requests = map[string]int{}
	}
	for _, name := range files {
		if err := b.readLog(name); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return nil
}

func (b *benchmark) readLog(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	account := "system:serviceaccount:" + framework.SystemNamespace + ":" + program
	for reader := bufio.NewReader(file); ; {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.User.Username != account || e.Verb == "watch" {
			continue
		}
		for i := range b.results {
			if r := &b.results[i]; r.contains(e.At) {
				r.Requests[e.String()]++
			}
		}
	}
}

// requestTable prints a line for each kind of request, with a column for each phase that shows the managers side by
// side.
func (r results) requestTable(w io.Writer) {
	kinds := map[string]bool{}
	for _, one := range r {
		for kind := range one.Requests {
			kinds[kind] = true
		}
	}
	fmt.Fprint(w, "\n| request |")
	for _, phase := range phaseNames() {
		fmt.Fprintf(w, " %s |", phase)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(phaseNames())))
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byObject) {
		fmt.Fprintf(w, "| %s |", kind)
		for _, phase := range phaseNames() {
			count := func(one result) float64 { return float64(one.Requests[kind]) }
			fmt.Fprintf(w, " %.0f / %.0f |", r.median(ours, count, phase), r.median(published, count, phase))
		}
		fmt.Fprintln(w)
	}
}

// byObject compares requests by resource, then by verb.
func byObject(a, b string) int {
	verbA, objectA, _ := strings.Cut(a, " ")
	verbB, objectB, _ := strings.Cut(b, " ")
	return cmp.Or(cmp.Compare(objectA, objectB), cmp.Compare(verbA, verbB))
}

// writes returns the number of requests that change something.
func (r result) writes() float64 {
	n := 0
	for kind, count := range r.Requests {
		if verb, _, _ := strings.Cut(kind, " "); verb != "get" && verb != "list" {
			n += count
		}
	}
	return float64(n)
}
