package valkey

import (
	"context"
	"strconv"
	"strings"
)

// stat is a line of the server's statistics of commands.
type stat struct {
	calls int
	usec  float64 // for one call
}

// stats are those of all commands that were called, those inside functions included.
func (s *server) stats() map[string]stat {
	s.t.Helper()
	all := map[string]stat{}
	for line := range strings.SplitSeq(s.admin.Info(context.Background(), "commandstats").Val(), "\r\n") {
		name, fields, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":")
		if !found {
			continue
		}
		var one stat
		for field := range strings.SplitSeq(fields, ",") {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "calls":
				one.calls, _ = strconv.Atoi(value)
			case "usec_per_call":
				one.usec, _ = strconv.ParseFloat(value, 64)
			}
		}
		all[name] = one
	}
	return all
}

func (s *server) calls(command string) int { return s.stats()[command].calls }

func (s *server) commands() []string {
	var names []string
	for name := range s.stats() {
		names = append(names, name)
	}
	return names
}

// microseconds is the server's own time for one call of a command.
func (s *server) microseconds(command string) float64 { return s.stats()[command].usec }

// cpu is the processor time that the server has used, in seconds: unlike the time of a call it holds on a busy machine.
func (s *server) cpu() float64 {
	s.t.Helper()
	return s.info("cpu", "used_cpu_user") + s.info("cpu", "used_cpu_sys")
}

// threadCPU is the processor time of the thread that runs all calls, in seconds. What is freed beside it is not in it.
func (s *server) threadCPU() float64 {
	s.t.Helper()
	return s.info("cpu", "used_cpu_user_main_thread") + s.info("cpu", "used_cpu_sys_main_thread")
}

// info is a number that the server reports of itself.
func (s *server) info(section, field string) float64 {
	s.t.Helper()
	_, rest, _ := strings.Cut("\n"+s.admin.Info(context.Background(), section).Val(), "\n"+field+":")
	text, _, _ := strings.Cut(rest, "\r")
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatalf("%s of %s: %v", field, section, err)
	}
	return number
}
