package footprint

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestForgetResetsThePeak(t *testing.T) {
	const size = 64 << 20
	// Allocate outside Go's heap, because the Go runtime decides which memory it returns to the kernel, and when.
	block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < size; i += os.Getpagesize() {
		block[i] = 1
	}
	before, err := Peak(os.Getpid())
	if err != nil || before < size>>20 {
		t.Fatalf("%g MiB (%v) with a block of 64", before, err)
	}
	if err := unix.Munmap(block); err != nil {
		t.Fatal(err)
	}
	if after, err := Peak(os.Getpid()); err != nil || after < size>>20 {
		t.Errorf("%g MiB (%v) before the call of Forget, %g with the block", after, err, before)
	}
	if err := Forget(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if after, err := Peak(os.Getpid()); err != nil || after > before-size>>21 {
		t.Errorf("%g MiB (%v) without it, %g with it", after, err, before)
	}
	if _, err := Peak(-1); err == nil {
		t.Error("no error for process -1")
	}
}
