package image

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Libraries returns the loader and the shared libraries of a program on this host, by path, for the Files of an image.
// A missing library is an error.
func Libraries(ctx context.Context, program string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("finding the libraries of %s: %w", program, err)
	}
	files, err := parseLibraries(out)
	if err != nil {
		return nil, fmt.Errorf("finding the libraries of %s: %w", program, err)
	}
	return files, nil
}

// parseLibraries parses the output of ldd: "name => path (address)", "path (address)" for the loader, and "name
// (address)" for what the kernel provides.
func parseLibraries(out []byte) (map[string]string, error) {
	files := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		name, path, found := strings.Cut(line, " => ")
		if !found || strings.HasPrefix(name, "/") { // the path of the loader in the program, which may differ from the loader used by ldd
			path = name
		}
		if strings.HasPrefix(path, "not found") {
			return nil, fmt.Errorf("%s is not installed", name)
		}
		path, _, _ = strings.Cut(path, " (")
		if strings.HasPrefix(path, "/") {
			files[path] = path
		}
	}
	return files, nil
}
