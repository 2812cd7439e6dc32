package workload

import (
	"testing"
	"time"
)

var asked = time.Unix(1000, 0)

func pod(phase Phase, change ...func(*Pod)) *Pod {
	p := &Pod{Node: "node", Phase: phase}
	for _, c := range change {
		c(p)
	}
	return p
}

// deleted marks a pod as deleted with a grace period in seconds.
func deleted(grace int) func(*Pod) {
	return func(p *Pod) {
		p.Deleting, p.Asked, p.Due, p.Forced = true, asked, asked.Add(time.Duration(grace)*time.Second), grace == 0
	}
}

// exited sets the exit of a container, relative to the deletion request.
func exited(after time.Duration) func(*Pod) {
	return func(p *Pod) { p.Containers = []Container{{Exited: &Exit{At: asked.Add(after)}}} }
}

func unbound(p *Pod) { p.Node = "" }

func TestStateOf(t *testing.T) {
	running, pending := pod(Running), pod(Pending, unbound)
	failed, ending := pod(Failed), pod(Running, deleted(30))
	cases := map[string]struct {
		pods []*Pod
		want State
	}{
		"no pod at all":                                 {nil, Vacant},
		"a running pod":                                 {[]*Pod{running}, Held},
		"one that waits for a node":                     {[]*Pod{pending}, Held},
		"a failed pod":                                  {[]*Pod{failed}, Vacant},
		"a failed pod and its replacement":              {[]*Pod{failed, pending}, Held},
		"in whatever order":                             {[]*Pod{pending, failed}, Held},
		"a worker that may save its checkpoint":         {[]*Pod{ending}, Ending},
		"a failed one beside it":                        {[]*Pod{ending, failed}, Ending},
		"one that ends beside one that lives":           {[]*Pod{ending, running}, Held},
		"one that was deleted before it had a node":     {[]*Pod{pod(Pending, unbound, deleted(30))}, Vacant},
		"one that was deleted by force":                 {[]*Pod{pod(Running, deleted(0))}, Vacant},
		"one that failed while it was being deleted":    {[]*Pod{pod(Failed, deleted(30))}, Vacant},
		"a finished worker":                             {[]*Pod{pod(Succeeded)}, Finished},
		"a finished worker that was deleted":            {[]*Pod{pod(Succeeded, deleted(30))}, Finished},
		"a finished worker after a failed one":          {[]*Pod{failed, pod(Succeeded)}, Finished},
		"a finished worker beside one that still ends":  {[]*Pod{pod(Succeeded), ending}, Ending},
		"a pod that its node was given and never began": {[]*Pod{pod(Pending, deleted(30))}, Ending},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := StateOf(c.pods); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		pod        *Pod
		lost, gone bool
	}{
		"a failed pod":                                   {pod(Failed), true, true},
		"a running pod":                                  {pod(Running), false, true},
		"a running pod that is being deleted":            {pod(Running, deleted(30)), false, true},
		"one that was deleted by force":                  {pod(Running, deleted(0)), true, true},
		"a worker that has finished":                     {pod(Succeeded, exited(0)), false, false},
		"a worker that exited 0 in a deletion":           {pod(Succeeded, deleted(30), exited(time.Second)), true, true},
		"a worker that had finished before the deletion": {pod(Succeeded, deleted(30), exited(-time.Minute)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.pod.Lost() != c.lost || c.pod.LostWhenGone() != c.gone {
				t.Errorf("Lost %v, LostWhenGone %v; want %v, %v", c.pod.Lost(), c.pod.LostWhenGone(), c.lost, c.gone)
			}
		})
	}
}

// Of two pods with the same index, the Job controller keeps the one that outranks the other.
func TestOutranks(t *testing.T) {
	born := func(second int64) func(*Pod) { return func(p *Pod) { p.Created = time.Unix(second, 0) } }
	made := pod(Pending, unbound, born(10))
	for name, c := range map[string]struct {
		other *Pod
		want  bool
	}{
		"it has a node":          {pod(Pending, born(11)), true},
		"it is older":            {pod(Pending, unbound, born(9)), true},
		"it is of the same time": {pod(Pending, unbound, born(10)), false},
		"it is younger":          {pod(Pending, unbound, born(11)), false},
		"it has failed":          {pod(Failed, born(9)), false},
		"it is being deleted":    {pod(Running, born(9), deleted(30)), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.other.Outranks(made); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
