package config

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// check parses every setting. It checks all of them even if some are invalid.
func (s settings) check(p *problems) Config {
	return Config{
		Identity:        s.identity(p),
		Store:           s.store(p),
		ContainerName:   s.text(p, containerName),
		GracePeriod:     s.duration(p, gracePeriod, 10*time.Second, 0),
		CRISocket:       s.socket(p),
		PollingInterval: s.duration(p, pollingInterval, time.Second, 10*time.Millisecond),
		ReadyPort:       s.port(p),
		StartupDir:      s.folder(p, startupDir),
		RemoveStopped:   s.flag(p, removeStopped),
		LogLevel:        s.level(p),
	}
}

func (s settings) identity(p *problems) Identity {
	return Identity{JobSetUID: s.text(p, jobSetUID), WorkerID: s.slot(p), PodUID: s.text(p, podUID), PodEpoch: s.number(p, podEpoch, s[podEpoch].value, 1), Place: s.place(p)}
}

// place returns the names of the pod and the node. Both are optional but must be valid if set.
func (s settings) place(p *problems) coordination.Place {
	return coordination.Place{PodName: s.name(p, podName), Node: s.name(p, nodeName)}
}

func (s settings) name(p *problems, name string) string {
	v := s[name].value
	if strings.ContainsAny(v, " \t\n$") {
		s.bad(p, name, fmt.Sprintf("is %q, not a name", v))
		return ""
	}
	return v
}

// number parses the value of a setting as an integer no less than least. It returns 0 if there is no value.
func (s settings) number(p *problems, name, v string, least int64) int64 {
	n, err := strconv.ParseInt(v, 10, 32)
	if v != "" && (err != nil || n < least) {
		s.bad(p, name, fmt.Sprintf("is %q, not a number from %d on", v, least))
	}
	return n
}

func (s settings) store(p *problems) Store {
	o := Store{
		Address: s.address(p), Username: s[valkeyUsername].value, PasswordFile: s.file(p, valkeyPassword),
		CAFile: s.file(p, valkeyCA), CertFile: s.file(p, valkeyCert), KeyFile: s.file(p, valkeyKey),
		ServerName: s[valkeyServer].value, RelayFrom: s.number(p, relayFrom, s.text(p, relayFrom), 0),
	}
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		p.add("--%s and --%s go together: give both or none", valkeyCert, valkeyKey)
	case o.CertFile != "" && o.CAFile == "":
		s.bad(p, valkeyCA, "is required with --"+valkeyCert)
	case o.ServerName != "" && o.CAFile == "":
		s.bad(p, valkeyCA, "is required with --"+valkeyServer)
	}
	return o
}

// bad records what is wrong with a setting, where it is set, and how to fix it.
func (s settings) bad(p *problems, name, what string) {
	p.add("--%s (environment: %s) %s; %s", name, s[name].env, what, s[name].fix)
}

var unexpanded = regexp.MustCompile(`\$\([A-Za-z_][A-Za-z0-9_.-]*\)`)

// text returns a required setting. Kubernetes leaves $(NAME) unexpanded if the variable is not defined before it is
// used.
func (s settings) text(p *problems, name string) string {
	v := s[name].value
	if left := unexpanded.FindAllString(v, -1); left != nil {
		s.bad(p, name, fmt.Sprintf("is %q: %s was not expanded, because the container defines no such variable", v, strings.Join(left, ", ")))
		return ""
	}
	if v == "" {
		s.bad(p, name, "is missing")
	}
	return v
}

// slotName matches slot names as the manifest builds them: the names of the JobSet and the replicatedJob, which neither
// begin nor end with a dash, followed by two indexes. The name of a spare has "spares" instead of the Job index.
var slotName = regexp.MustCompile(`^[^-].*-.*[^-]-(0|[1-9][0-9]*|spares)-(0|[1-9][0-9]*)$`)

func (s settings) slot(p *problems) string {
	v := s.text(p, workerID)
	if v != "" && !slotName.MatchString(v) {
		s.bad(p, workerID, fmt.Sprintf("is %q, not <JobSet>-<replicatedJob>-<job index>-<completion index>", v))
	}
	return v
}

func (s settings) duration(p *problems, name string, initial, least time.Duration) time.Duration {
	d, err := grace.Rule{Name: "--" + name, Default: initial, Minimum: least}.Parse(s.text(p, name))
	if err != nil {
		s.bad(p, name, "is wrong: "+err.Error())
	}
	return d
}

func (s settings) socket(p *problems) string {
	v := s.text(p, criSocket)
	path := strings.TrimPrefix(v, "unix://")
	if v != "" && !filepath.IsAbs(path) {
		s.bad(p, criSocket, fmt.Sprintf("is %q, not a socket's path", v))
	}
	return path
}

func (s settings) address(p *problems) string {
	v := s.text(p, valkeyAddress)
	if v == "" {
		return v
	}
	host, port, err := net.SplitHostPort(v)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
		s.bad(p, valkeyAddress, fmt.Sprintf("is %q, not host:port", v))
	}
	return v
}

// file returns the path of a readable file, or "".
func (s settings) file(p *problems, name string) string {
	v := s[name].value
	if v == "" {
		return v
	}
	f, err := os.Open(v)
	if err != nil {
		s.bad(p, name, "cannot be read: "+err.Error())
		return v
	}
	f.Close()
	return v
}

// folder returns the path of a writable directory.
func (s settings) folder(p *problems, name string) string {
	v := s.text(p, name)
	if v == "" {
		return v
	}
	if err := startup.Writable(v); err != nil {
		s.bad(p, name, "cannot be written: "+err.Error())
	}
	return v
}

func (s settings) port(p *problems) int {
	v := s.text(p, readyPort)
	n, err := strconv.ParseUint(v, 10, 16)
	if v != "" && (err != nil || n == 0) {
		s.bad(p, readyPort, fmt.Sprintf("is %q, not a port", v))
	}
	return int(n)
}

func (s settings) flag(p *problems, name string) bool {
	v := s.text(p, name)
	on, err := strconv.ParseBool(v)
	if v != "" && err != nil {
		s.bad(p, name, fmt.Sprintf("is %q, neither true nor false", v))
	}
	return on
}

func (s settings) level(p *problems) slog.Level {
	var l slog.Level
	if v := s.text(p, logLevel); v != "" && l.UnmarshalText([]byte(v)) != nil {
		s.bad(p, logLevel, fmt.Sprintf("is %q, not a level", v))
	}
	return l
}
