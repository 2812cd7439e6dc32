// Package install puts this program where a container without it finds it: an init container runs it, on a volume that
// both mount.
package install

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Name is the program's.
const Name = "holdfast-exec"

// Into copies this program into a folder. A program that is there is replaced as a whole, also while it runs.
func Into(dir string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("installing %s: %w", Name, err)
	}
	defer self.Close()
	temp, err := os.CreateTemp(dir, "."+Name+".*")
	if err != nil {
		return fmt.Errorf("installing %s: %w", Name, err)
	}
	defer os.Remove(temp.Name())
	if err := fill(temp, self); err != nil {
		return fmt.Errorf("installing %s: %w", Name, err)
	}
	if err := os.Rename(temp.Name(), filepath.Join(dir, Name)); err != nil {
		return fmt.Errorf("installing %s: %w", Name, err)
	}
	return nil
}

// fill copies and closes: a file that is open for writing cannot be executed.
func fill(temp *os.File, from io.Reader) error {
	_, err := io.Copy(temp, from)
	if err == nil {
		err = temp.Chmod(0o755) // the worker may run as any user
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	return err
}
