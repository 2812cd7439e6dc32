// Package install copies this program to a place from which a container can run it even if its image does not include
// it. It is called by an init container, with a volume that both containers mount.
package install

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Name is the name of the program.
const Name = "holdfast-exec"

// Into copies this program into a folder. It replaces an existing copy atomically, even while that copy is running.
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

// fill copies the program and closes the file, because a file that is open for writing cannot be executed.
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
