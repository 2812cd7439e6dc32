package startup

import (
	"fmt"
	"os"
	"path/filepath"
)

// write replaces a file atomically: a reader, or an agent that starts after a crash, sees either the old content or the
// new. It does not call fsync, because the volume does not survive a reboot of the node.
func write(dir, name string, data []byte) error {
	temp, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chmod(temp.Name(), 0o644) // the worker may run as any user
	}
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// Writable reports whether files can be written in dir.
func Writable(dir string) error {
	temp, err := os.CreateTemp(dir, ".probe.*")
	if err != nil {
		return err
	}
	temp.Close()
	return os.Remove(temp.Name())
}
