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

// exited adds a container that exited at the given time after the deletion request.
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
		"no pod":                               {nil, Vacant},
		"a running pod":                        {[]*Pod{running}, Held},
		"an unscheduled pod":                   {[]*Pod{pending}, Held},
		"a failed pod":                         {[]*Pod{failed}, Vacant},
		"a failed pod and its replacement":     {[]*Pod{failed, pending}, Held},
		"in any order":                         {[]*Pod{pending, failed}, Held},
		"a terminating pod":                    {[]*Pod{ending}, Ending},
		"a failed pod next to it":              {[]*Pod{ending, failed}, Ending},
		"a terminating pod next to a live one": {[]*Pod{ending, running}, Held},
		"a pod that was deleted before it was scheduled": {[]*Pod{pod(Pending, unbound, deleted(30))}, Vacant},
		"a force-deleted pod":                            {[]*Pod{pod(Running, deleted(0))}, Vacant},
		"a pod that failed while it was being deleted":   {[]*Pod{pod(Failed, deleted(30))}, Vacant},
		"a finished worker":                              {[]*Pod{pod(Succeeded)}, Finished},
		"a finished worker that was deleted":             {[]*Pod{pod(Succeeded, deleted(30))}, Finished},
		"a finished worker after a failed one":           {[]*Pod{failed, pod(Succeeded)}, Finished},
		"a finished worker next to a terminating pod":    {[]*Pod{pod(Succeeded), ending}, Ending},
		"a scheduled pod that never started":             {[]*Pod{pod(Pending, deleted(30))}, Ending},
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
		"a force-deleted pod":                            {pod(Running, deleted(0)), true, true},
		"a worker that has finished":                     {pod(Succeeded, exited(0)), false, false},
		"a worker that exited 0 during the deletion":     {pod(Succeeded, deleted(30), exited(time.Second)), true, true},
		"a worker that had finished before the deletion": {pod(Succeeded, deleted(30), exited(-time.Minute)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.pod.Lost() != c.lost || c.pod.LostWhenGone() != c.gone {
				t.Errorf("Lost %v, LostWhenGone %v; want %v, %v", c.pod.Lost(), c.pod.LostWhenGone(), c.lost, c.gone)
			}
		})
	}
}
