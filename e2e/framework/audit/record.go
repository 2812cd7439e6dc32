package audit

import (
	"io"
	"maps"
	"slices"
)

// Record summarizes the requests of a run.
type Record struct {
	// Used lists the permissions that at least one request needed.
	Used []Grant `json:"used"`
	// Refused counts the requests that RBAC rejected, for programs that have any permissions.
	Refused map[string]int `json:"refused,omitempty"`
}

// Collect compares the requests in logs with the permissions. It ignores requests of programs that have none of the
// permissions.
func Collect(grants []Grant, logs ...io.Reader) (Record, error) {
	known, used, refused := programs(grants), map[Grant]bool{}, map[string]int{}
	seen := map[Request]bool{}
	for _, log := range logs {
		err := Read(log, func(r Request) {
			if !known[r.Program] {
				return
			}
			if r.Refused {
				refused[withoutName(r).String()]++
				return
			}
			if seen[r] {
				return
			}
			seen[r] = true
			for _, g := range grants {
				if g.Covers(r) {
					used[g] = true
				}
			}
		})
		if err != nil {
			return Record{}, err
		}
	}
	all := slices.Collect(maps.Keys(used))
	Sort(all)
	return Record{all, refused}, nil
}

// Lasting returns the rejections of requests that were never allowed in the same run. Uninstalling a chart removes the
// roles before the programs have ended. Requests that are rejected at that point were allowed earlier.
func (r Record) Lasting() map[string]int {
	allowed := map[string]bool{}
	for _, g := range r.Used {
		g.Name = ""
		allowed[g.String()] = true
		g.Own = true // a permission in all namespaces includes the program's own
		allowed[g.String()] = true
	}
	lasting := maps.Clone(r.Refused)
	maps.DeleteFunc(lasting, func(request string, _ int) bool { return allowed[request] })
	return lasting
}

func programs(grants []Grant) map[string]bool {
	found := map[string]bool{}
	for _, g := range grants {
		found[g.Program] = true
	}
	return found
}

func withoutName(r Request) Request {
	r.Name = ""
	return r
}

// Unused returns the permissions that are not used in any record. A get permission is left out if the resource was
// listed, because it reveals no more than the list does.
func Unused(grants []Grant, records ...Record) []Grant {
	used := map[Grant]bool{}
	for _, record := range records {
		for _, g := range record.Used {
			used[g] = true
		}
	}
	var unused []Grant
	for _, g := range grants {
		if !used[g] && !(g.Verb == "get" && used[g.listing()]) {
			unused = append(unused, g)
		}
	}
	Sort(unused)
	return unused
}
