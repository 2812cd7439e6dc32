package images

import (
	"debug/elf"
	"fmt"
)

// machines by the names that Go and image platforms give them.
var machines = map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}

// CheckStatic fails unless the file is a program for the platform that needs nothing beside it: no loader, no library.
func CheckStatic(file, platform string) error {
	machine, known := machines[platform]
	if !known {
		return fmt.Errorf("platform %s is not known", platform)
	}
	program, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	defer program.Close()
	if program.Machine != machine {
		return fmt.Errorf("%s is for %s, not for %s", file, program.Machine, platform)
	}
	for _, segment := range program.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs a loader: it is not static", file)
		}
	}
	if libraries, err := program.ImportedLibraries(); err == nil && len(libraries) > 0 {
		return fmt.Errorf("%s needs %q: it is not static", file, libraries)
	}
	return nil
}
