package footprint

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestForgetResetsThePeak(t *testing.T) {
	const size = 64 << 20
	block := make([]byte, size)
	for i := 0; i < size; i += os.Getpagesize() {
		block[i] = 1
	}
	runtime.KeepAlive(block)
	before, err := Peak(os.Getpid())
	if err != nil || before < size>>20 {
		t.Fatalf("%g MiB (%v) with a block of 64", before, err)
	}
	block = nil
	debug.FreeOSMemory()
	if err := Forget(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if after, err := Peak(os.Getpid()); err != nil || after > before-size>>21 {
		t.Errorf("%g MiB (%v) without it, %g with it", after, err, before)
	}
	if _, err := Peak(-1); err == nil {
		t.Error("there is a process -1")
	}
}
