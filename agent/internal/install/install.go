// Package install copies this program to a place from which a container can run it even if its image does not include
// it. It is called by an init container, with a volume that both containers mount.
package install

import (
	"fmt"
	"os"

	"github.com/holdfast-project/holdfast/agent/internal/startup"
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
	return startup.Replace(dir, Name, 0o755, self) // the worker may run as any user
}
