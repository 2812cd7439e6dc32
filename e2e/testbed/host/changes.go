package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Changes records what must be restored on this host. It is saved before the first change is made, and only once,
// because later runs no longer find the original state.
type Changes struct {
	// Sysctls maps names under /proc/sys to their original values.
	Sysctls map[string]string `json:"sysctls"`
	// Dirs lists the directories that did not exist, outermost first.
	Dirs []string `json:"dirs"`
}

// Survey reads the kernel settings and finds the directories that would have to be created. It leaves out settings
// that this kernel does not support.
func Survey(sysctls, dirs []string) Changes {
	changes := Changes{Sysctls: map[string]string{}}
	for _, name := range sysctls {
		if raw, err := os.ReadFile(sysctlFile(name)); err == nil {
			changes.Sysctls[name] = strings.TrimSpace(string(raw))
		}
	}
	for _, dir := range dirs {
		changes.Dirs = append(changes.Dirs, missing(dir)...)
	}
	return changes
}

// missing returns those of dir and its ancestors that do not exist.
func missing(dir string) []string {
	var absent []string
	for ; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		absent = append([]string{dir}, absent...)
	}
	return absent
}

// Load reads saved changes.
func Load(file string) (Changes, error) {
	var changes Changes
	raw, err := os.ReadFile(file)
	if err != nil {
		return changes, err
	}
	if err := json.Unmarshal(raw, &changes); err != nil {
		return changes, fmt.Errorf("reading %s: %w", file, err)
	}
	return changes, nil
}

// Save writes the changes to a file.
func (c Changes) Save(file string) error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", raw, 0o644); err != nil {
		return fmt.Errorf("saving the state of the host: %w", err)
	}
	return os.Rename(file+".new", file)
}

// Undo restores the settings and removes the created directories. It leaves directories that are used by others.
func (c Changes) Undo() error {
	var errs []error
	for name, value := range c.Sysctls {
		errs = append(errs, SetSysctl(name, value))
	}
	for i := len(c.Dirs) - 1; i >= 0; i-- {
		_ = os.Remove(c.Dirs[i])
	}
	return errors.Join(errs...)
}

// SetSysctl writes a kernel setting unless it already has the value.
func SetSysctl(name, value string) error {
	raw, err := os.ReadFile(sysctlFile(name))
	if err == nil && strings.TrimSpace(string(raw)) == value {
		return nil
	}
	if err := os.WriteFile(sysctlFile(name), []byte(value), 0); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	return nil
}

func sysctlFile(name string) string {
	return "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
}
