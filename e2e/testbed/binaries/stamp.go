package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// stamp returns a hash that changes whenever the component would be built differently.
func (c Component) stamp(root string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), c.Package, c.Tags, c.LDFlags)
	for _, pattern := range c.Inputs {
		files, err := filepath.Glob(filepath.Join(root, c.Module, pattern))
		if err != nil {
			return "", fmt.Errorf("pattern %q of %s: %w", pattern, c.Name, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("reading an input of %s: %w", c.Name, err)
			}
			fmt.Fprintln(hash, filepath.Base(file), len(raw))
			hash.Write(raw)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:12]), nil
}

// current returns the stamp of the binary in dir, or "" if there is no binary.
func current(dir, name string) string {
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		return ""
	}
	raw, err := os.ReadFile(stampFile(dir, name))
	if err != nil {
		return ""
	}
	return string(raw)
}

func keep(dir, name, stamp string) error {
	if err := os.WriteFile(stampFile(dir, name), []byte(stamp), 0o644); err != nil {
		return fmt.Errorf("writing the stamp of %s: %w", name, err)
	}
	return nil
}

func stampFile(dir, name string) string {
	return filepath.Join(dir, name+".stamp")
}
