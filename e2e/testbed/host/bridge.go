// Package host changes the machine that runs the testbed, and reverts the changes: bridges, address translation, kernel
// settings, directories.
package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Bridge is a network bridge with its own address.
type Bridge struct {
	// Name has at most 15 characters, which is the kernel's limit.
	Name string
	// MAC is fixed. If it changed with the ports, pods would have stale neighbor entries, which were observed to cause
	// stalls of a minute or more.
	MAC string
	// Address is the bridge's own address with its prefix length.
	Address string
}

// Ensure creates the bridge, or completes a bridge that was only partially created. A bridge works without ports, even
// with kernels that do not support dummy devices.
func (b Bridge) Ensure(ctx context.Context) error {
	device, err := net.InterfaceByName(b.Name)
	if err != nil {
		if err := ip(ctx, "link", "add", "name", b.Name, "address", b.MAC, "type", "bridge"); err != nil {
			return err
		}
		if device, err = net.InterfaceByName(b.Name); err != nil {
			return fmt.Errorf("looking up bridge %s: %w", b.Name, err)
		}
	}
	if !b.hasAddress(device) {
		if err := ip(ctx, "address", "add", b.Address, "dev", b.Name); err != nil {
			return err
		}
	}
	if device.Flags&net.FlagUp == 0 {
		return ip(ctx, "link", "set", b.Name, "up")
	}
	return nil
}

// Down takes the bridge and the pods' devices on it off the network. Ensure reverses this.
func (b Bridge) Down(ctx context.Context) error { return ip(ctx, "link", "set", b.Name, "down") }

func (b Bridge) hasAddress(device *net.Interface) bool {
	addresses, err := device.Addrs()
	return err == nil && slices.ContainsFunc(addresses, func(a net.Addr) bool { return a.String() == b.Address })
}

// Remove deletes the bridge and the pods' devices on it.
func (b Bridge) Remove(ctx context.Context) error {
	for _, port := range b.Ports() {
		// A pod's device is removed automatically with its namespace.
		if err := ip(ctx, "link", "delete", port); err != nil && exists(port) {
			return err
		}
	}
	if !exists(b.Name) {
		return nil
	}
	return ip(ctx, "link", "delete", b.Name)
}

// Ports returns the devices attached to the bridge.
func (b Bridge) Ports() []string {
	paths, _ := filepath.Glob("/sys/class/net/" + b.Name + "/brif/*")
	for i, path := range paths {
		paths[i] = filepath.Base(path)
	}
	return paths
}

// Bridges returns the names of the devices with the prefix.
func Bridges(prefix string) []string {
	paths, _ := filepath.Glob("/sys/class/net/" + prefix + "*")
	for i, path := range paths {
		paths[i] = filepath.Base(path)
	}
	return paths
}

func exists(device string) bool {
	_, err := os.Lstat("/sys/class/net/" + device)
	return err == nil
}

func ip(ctx context.Context, args ...string) error {
	return run(ctx, "", "ip", args...)
}

func run(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
