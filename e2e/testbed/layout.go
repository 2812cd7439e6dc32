package testbed

import (
	"fmt"
	"os"
	"path/filepath"
)

// runDir holds sockets, whose paths must be short, and files that must not survive a reboot.
const runDir = "/run/holdfast"

// Layout determines where the testbed keeps its files.
type Layout struct {
	cache string
}

// NewLayout returns a layout in the user's cache directory. It respects XDG_CACHE_HOME.
func NewLayout() (Layout, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Layout{}, fmt.Errorf("finding the cache folder: %w", err)
	}
	return Layout{cache: filepath.Join(dir, "holdfast")}, nil
}

// Bin returns the directory of the built binaries, which is kept by Down.
func (l Layout) Bin() string { return filepath.Join(l.cache, "bin") }

// State returns the directory of everything else, which is removed by Down.
func (l Layout) State() string { return filepath.Join(l.cache, "testbed") }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (l Layout) Kubeconfig() string { return l.state("kubeconfig") }

// Log returns the file with a component's output.
func (l Layout) Log(component string) string { return l.state("logs", component+".log") }

func (l Layout) program(name string) string { return filepath.Join(l.Bin(), name) }

func (l Layout) state(parts ...string) string {
	return filepath.Join(append([]string{l.State()}, parts...)...)
}

func (l Layout) pkiDir() string      { return l.state("pki") }
func (l Layout) processDir() string  { return l.state("processes") }
func (l Layout) changesFile() string { return l.state("host.json") }
func (l Layout) optionsFile() string { return l.state("options.json") }

// lockFile is outside the state directory, because the lock must outlive that directory.
func (l Layout) lockFile() string { return filepath.Join(l.cache, "testbed.lock") }

// ownerFile returns the path of a file that names the state directory of the testbed on this host. There can be only
// one testbed, because addresses and devices have fixed names.
func ownerFile() string { return filepath.Join(runDir, "owner") }

// create creates the directories for the state.
func (l Layout) create() error {
	for _, dir := range []string{l.State(), l.pkiDir(), l.processDir(), l.state("logs"), l.state("kubeconfigs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("creating the testbed's folders: %w", err)
		}
	}
	return nil
}

// writeFile writes a file unless it already has the content.
func writeFile(path, content string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == content {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("creating a folder: %w", err)
	}
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing a configuration: %w", err)
	}
	return os.Rename(path+".new", path)
}
