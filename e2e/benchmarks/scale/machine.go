package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
)

// machine describes this machine.
func machine() results.Machine {
	m := results.Machine{Cores: runtime.NumCPU(), Versions: map[string]string{"go": strings.TrimPrefix(runtime.Version(), "go")}}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpu)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			m.Processor = strings.TrimSpace(value)
			break
		}
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryGiB = float64(info.Totalram) * float64(info.Unit) / (1 << 30)
	}
	load, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscanf(string(load), "%f", &m.Waiting)
	if out, err := exec.Command(storeProgram, "--version").Output(); err == nil {
		m.Versions["valkey"] = wordAfter(string(out), "v=")
	}
	if out, err := exec.Command("etcd", "--version").Output(); err == nil {
		m.Versions["etcd"] = wordAfter(string(out), "etcd Version: ")
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, d := range build.Deps {
			if d.Path == "k8s.io/api" {
				m.Versions["kubernetes"] = "1" + strings.TrimPrefix(d.Version, "v0")
			}
		}
	}
	return m
}

func wordAfter(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	if fields := strings.Fields(rest); len(fields) > 0 {
		return fields[0]
	}
	return ""
}
