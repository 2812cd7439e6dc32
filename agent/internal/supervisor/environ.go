package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
)

// CheckpointVariable names the file that a worker creates while it writes a checkpoint.
const CheckpointVariable = "HOLDFAST_CHECKPOINT_FILE"

// inRound returns a program with the environment of a round.
func (s *Supervisor) inRound(p process.Spec, r round) process.Spec {
	added := strings.Fields(string(startup.Env(s.options.Group, r.generation, r.number)))
	if s.options.CheckpointFile != "" {
		added = append(added, CheckpointVariable+"="+s.options.CheckpointFile)
	}
	if p := s.options.Progress; p != nil && p.variable() != "" {
		added = append(added, p.variable())
	}
	p.Env = overlay(p.Env, append(added, s.named(p.Env, r)...))
	return p
}

// named returns the variables of RoundVariables with the round appended to their values. It skips those that the
// program does not have.
func (s *Supervisor) named(env []string, r round) []string {
	var list []string
	for _, v := range env {
		if slices.Contains(s.options.RoundVariables, nameOf(v)) {
			list = append(list, fmt.Sprintf("%s-%d-%d", v, r.generation, r.number))
		}
	}
	return list
}

// overlay adds variables to env, and removes those of the same names, because programs differ in which of two variables
// of the same name they use.
func overlay(env, added []string) []string {
	names := map[string]bool{}
	for _, v := range added {
		names[nameOf(v)] = true
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return names[nameOf(v)] })
	return append(kept, added...)
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
