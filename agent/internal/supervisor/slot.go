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

const (
	hostsTimeout = 3 * time.Second
	hostsRetry   = 200 * time.Millisecond
)

// hostVariable is the environment variable with the host name of the pod itself, which never changes.
const hostVariable = "HOSTNAME"

// slotName matches slot names. It may also match other text, for which the store has no host name.
var slotName = regexp.MustCompile(`[a-z0-9][a-z0-9-]*-[0-9]+-[0-9]+`)

var label = regexp.MustCompile(`[a-z0-9-]+`)

// placed prepares a program to run as the worker in a slot. It sets the slot's indexes, and replaces the names of slots
// with the host names of the pods that occupy them. If the instance is asked to stop before these are known, placed returns
// the requested ending.
func (s *Supervisor) placed(i *instance, r round) (process.Spec, *ending) {
	p := s.options.Program
	if !s.options.AnySlot {
		return p, nil
	}
	if position, ok := coordination.PositionOf(r.slot, s.options.FirstGlobal, s.options.FirstGroup); ok {
		p = mapped(p, position.Fill)
	}
	hostName := hostNameIn(s.options.Subdomain)
	slots := slotsIn(p, hostName)
	if len(slots) == 0 {
		return p, nil
	}
	hosts, order := unlessEnded(i, func(ctx context.Context) map[string]string { return s.askHosts(ctx, slots) })
	if len(hosts) == 0 {
		return p, order
	}
	return mapped(p, func(text string) string {
		return replaced(text, hostName, func(name string) string { return cmp.Or(hosts[name], name) })
	}), order
}

// hostNameIn returns an expression that matches host names of slots. It may also match other names. A slot name that is not
// followed by the subdomain may be part of a path, which belongs to the slot and not to the pod. If the subdomain is
// unknown, every slot name counts as a host name.
func hostNameIn(subdomain string) *regexp.Regexp {
	if subdomain == "" {
		return label
	}
	return regexp.MustCompile(label.String() + `\.` + regexp.QuoteMeta(subdomain) + "($|[^a-z0-9-])")
}

// replaced calls change for the first label of each host name in a text, and returns the text with the results.
func replaced(text string, hostName *regexp.Regexp, change func(name string) string) string {
	return hostName.ReplaceAllStringFunc(text, func(host string) string {
		name, _, _ := strings.Cut(host, ".")
		return change(name) + host[len(name):]
	})
}

// askHosts queries the store until it replies.
func (s *Supervisor) askHosts(ctx context.Context, slots []string) map[string]string {
	for failures := 0; ; failures++ {
		one, cancel := context.WithTimeout(ctx, hostsTimeout)
		hosts, err := s.options.Hosts(one, s.options.JobSetUID, slots)
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

// slotsIn returns the names in the program's environment and arguments that may be slot names.
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
