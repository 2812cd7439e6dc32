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

	"github.com/holdfast-project/holdfast/e2e/lab"
)

// auditEvent is what is read of a line of the audit log.
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

// String is the kind of request, such as "patch jobsets/status". One that the API server refused has the code of its answer.
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

// readRequests counts the requests of the managers in each phase, from the audit log.
func (b *benchmark) readRequests() error {
	files, err := b.lab.Cluster.AuditLogs()
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
	account := "system:serviceaccount:" + lab.SystemNamespace + ":" + program
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
			if r := &b.results[i]; e.At.After(r.start) && e.At.Before(r.end) {
				r.Requests[e.String()]++
			}
		}
	}
}

// requestTable has a line for each kind of request, and for each phase a column with the managers side by side.
func (b *benchmark) requestTable(w io.Writer, s shape) {
	kinds := map[string]bool{}
	for _, r := range b.results {
		if r.Shape == s {
			for kind := range r.Requests {
				kinds[kind] = true
			}
		}
	}
	phases := (&stage{}).phases()
	fmt.Fprint(w, "| request |")
	for _, p := range phases {
		fmt.Fprintf(w, " %s |", p.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(phases)))
	byObject := func(a, b string) int {
		verbA, objectA, _ := strings.Cut(a, " ")
		verbB, objectB, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(objectA, objectB), cmp.Compare(verbA, verbB))
	}
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byObject) {
		fmt.Fprintf(w, "| %s |", kind)
		for _, p := range phases {
			fmt.Fprintf(w, " %s |", b.sideBySide(s, p.name, kind))
		}
		fmt.Fprintln(w)
	}
}

func (b *benchmark) sideBySide(s shape, phase, kind string) string {
	var counts []string
	for _, name := range b.options.managers {
		for _, r := range b.results {
			if r.Shape == s && r.Phase == phase && r.Manager == name {
				counts = append(counts, fmt.Sprint(r.Requests[kind]))
			}
		}
	}
	return strings.Join(counts, " / ")
}
