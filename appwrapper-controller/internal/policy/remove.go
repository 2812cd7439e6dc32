package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

const (
	// removalPoll is for kinds that cannot be watched; watches tell of all others.
	removalPoll = 15 * time.Second
	// forcePoll: what is forced is asked for again.
	forcePoll = 5 * time.Second
	// named bounds how many of the remains a message names.
	named = 4
)

// remove all components and pods, first in the ordinary way and, after ForcefulDeletionGracePeriod, by force: pods first, then
// objects. gone is what to write when nothing remains.
func (f *Facts) remove(gone func(*Decision)) *Decision {
	d := f.decision()
	if d.Clocks.DeletionStart.IsZero() {
		d.Clocks.DeletionStart = f.Now
	}
	if len(f.Remains) == 0 {
		d.Clocks.DeletionEnd = f.Now
		d.set(v1beta2.DeletingResources, false, v1beta2.ReasonDeletionComplete, "")
		gone(d)
		return d
	}
	deadline := d.Clocks.DeletionStart.Add(f.Parameters.ForcefulDeletionGracePeriod)
	if f.Now.Before(deadline) {
		d.Do = Delete
		d.set(v1beta2.DeletingResources, true, v1beta2.ReasonDeletionInitiated, "")
		d.wait(deadline, f.Now)
		d.waitFor(removalPoll)
		return d
	}
	d.Do = ForceComponents
	if slices.ContainsFunc(f.Remains, func(r Remains) bool { return r.Pod }) {
		d.Do = ForcePods
	}
	evidence := Evidence(f.Remains)
	d.set(v1beta2.DeletingResources, true, v1beta2.ReasonDeletionInitiated,
		fmt.Sprintf("not gone %s after the removal began, hence forced: %s", f.Parameters.ForcefulDeletionGracePeriod, evidence))
	d.event(true, "DeletionForced", "Deleting", "the removal takes longer than "+f.Parameters.ForcefulDeletionGracePeriod.String()+
		" and is forced; the quota is held until all is gone: "+evidence)
	d.waitFor(forcePoll)
	return d
}

// Explain writes down what was learned by trying to remove the remains.
func (d *Decision) Explain(remains []Remains) {
	for i := range d.Conditions {
		if c := &d.Conditions[i]; c.Type == v1beta2.DeletingResources {
			c.Message = "held up: " + Evidence(remains)
		}
	}
}

// Evidence names what remains and what keeps it: the first few, those that something is known about first, in the order of their names.
func Evidence(remains []Remains) string {
	sorted := slices.SortedStableFunc(slices.Values(remains), func(a, b Remains) int {
		switch {
		case (a.Blocked == "") == (b.Blocked == ""):
			return cmp.Compare(a.Name, b.Name)
		case a.Blocked != "":
			return -1
		}
		return 1
	})
	var texts []string
	for i, r := range sorted {
		if i == named {
			texts = append(texts, "and more")
			break
		}
		text := r.Name
		if r.Blocked != "" {
			text += " (" + r.Blocked + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
