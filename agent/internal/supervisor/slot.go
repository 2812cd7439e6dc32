package supervisor

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Slots holds what a supervisor needs to run a worker in any slot of its stage.
type Slots struct {
	// FirstGlobal and FirstGroup are the numbers of Jobs before the first Job of the stage, in the JobSet and in the
	// group of replicatedJobs.
	FirstGlobal, FirstGroup int64
	// Subdomain follows the name of a slot in a host name. Without it, the name may be part of a path, which belongs to the
	// slot and not to the pod. If it is empty, each name counts as a host name.
	Subdomain string
	// Hosts returns the host names of the pods that currently occupy the given slots of a group. It omits slots whose pod
	// has the same name as the slot.
	Hosts func(ctx context.Context, group string, slots []string) (map[string]string, error)
}

const (
	hostsTimeout = 3 * time.Second
	hostsRetry   = 200 * time.Millisecond
)

// hostVariable is the environment variable with the host name of the pod itself, which never changes.
const hostVariable = "HOSTNAME"

// slotName matches the names of slots. It may also match other text, for which the store has no host name.
var slotName = regexp.MustCompile(`[a-z0-9][a-z0-9-]*-[0-9]+-[0-9]+`)

var label = regexp.MustCompile(`[a-z0-9-]+`)

// placed prepares a program to run as the worker of a slot. It sets the indexes of the slot, and replaces the names of
// slots with the host names of the pods that occupy them. If the instance is asked to stop before these are known,
// placed returns the requested ending.
func (s *Supervisor) placed(i *instance, r round) (process.Spec, *ending) {
	p := s.options.Program
	if s.options.Slots == nil {
		return p, nil
	}
	if position, ok := coordination.PositionOf(r.slot, s.options.Slots.FirstGlobal, s.options.Slots.FirstGroup); ok {
		p = mapped(p, position.Fill)
	}
	hostName := s.options.Slots.hostName()
	slots := slotsIn(p, hostName)
	if len(slots) == 0 {
		return p, nil
	}
	hosts, order := s.hosts(i, slots)
	if len(hosts) == 0 {
		return p, order
	}
	return mapped(p, func(text string) string {
		return replaced(text, hostName, func(name string) string { return cmp.Or(hosts[name], name) })
	}), order
}

// hostName returns an expression that matches host names of slots. It may also match other names.
func (o *Slots) hostName() *regexp.Regexp {
	if o.Subdomain == "" {
		return label
	}
	return regexp.MustCompile(label.String() + `\.` + regexp.QuoteMeta(o.Subdomain) + "($|[^a-z0-9-])")
}

// replaced calls change for the first label of each host name in a text, and returns the text with the results.
func replaced(text string, hostName *regexp.Regexp, change func(name string) string) string {
	return hostName.ReplaceAllStringFunc(text, func(host string) string {
		name, _, _ := strings.Cut(host, ".")
		return change(name) + host[len(name):]
	})
}

// hosts queries the store until it replies, or until the instance is asked to stop.
func (s *Supervisor) hosts(i *instance, slots []string) (map[string]string, *ending) {
	return unlessEnded(i, func(ctx context.Context) map[string]string { return s.askHosts(ctx, slots) })
}

func (s *Supervisor) askHosts(ctx context.Context, slots []string) map[string]string {
	for failures := 0; ; failures++ {
		one, cancel := context.WithTimeout(ctx, hostsTimeout)
		hosts, err := s.options.Slots.Hosts(one, s.options.Group, slots)
		cancel()
		if err == nil || ctx.Err() != nil {
			return hosts
		}
		if failures == 0 {
			s.options.Log.Warn("looking up the workers' hosts failed, retrying before starting the worker", "error", err)
		}
		select {
		case <-time.After(hostsRetry):
		case <-ctx.Done():
		}
	}
}

// slotsIn returns the names in the program's environment and arguments that may be those of slots.
func slotsIn(p process.Spec, hostName *regexp.Regexp) []string {
	slots := map[string]bool{}
	mapped(p, func(text string) string {
		return replaced(text, hostName, func(name string) string {
			if slotName.FindString(name) == name {
				slots[name] = true
			}
			return name
		})
	})
	return slices.Sorted(maps.Keys(slots))
}

// mapped returns a copy of the program with change applied to its arguments and the values of its variables.
func mapped(p process.Spec, change func(string) string) process.Spec {
	args, env := make([]string, len(p.Args)), make([]string, len(p.Env))
	for i, arg := range p.Args {
		args[i] = arg
		if i > 0 { // the program itself has already been resolved
			args[i] = change(arg)
		}
	}
	for i, variable := range p.Env {
		name, value, _ := strings.Cut(variable, "=")
		if env[i] = variable; name != hostVariable {
			env[i] = name + "=" + change(value)
		}
	}
	p.Args, p.Env = args, env
	return p
}
