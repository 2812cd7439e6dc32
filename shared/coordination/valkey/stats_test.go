package valkey

import (
	"context"
	"strconv"
	"strings"
)

// stat is a line of the server's command statistics.
type stat struct {
	calls int
	usec  float64 // for one call
}

// stats returns the statistics of all commands that were called, including those inside functions.
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

// microseconds returns the server's own measurement of one call of a command.
func (s *server) microseconds(command string) float64 { return s.stats()[command].usec }

// cpu returns the CPU time that the server has used, in seconds. Unlike the duration of a call, it is meaningful on a busy
// machine.
func (s *server) cpu() float64 {
	s.t.Helper()
	return s.info("cpu", "used_cpu_user") + s.info("cpu", "used_cpu_sys")
}

// threadCPU returns the CPU time of the thread that runs all calls, in seconds. It does not include the time for freeing memory
// in the background.
func (s *server) threadCPU() float64 {
	s.t.Helper()
	return s.info("cpu", "used_cpu_user_main_thread") + s.info("cpu", "used_cpu_sys_main_thread")
}

// info returns a number that the server reports about itself.
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
