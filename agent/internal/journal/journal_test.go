package journal

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTerminate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	Terminate(path, "there is no file")
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was created")
	}
	if err := os.WriteFile(path, []byte("an older and longer message"), 0o644); err != nil {
		t.Fatal(err)
	}
	Terminate(path, "why")
	if got, _ := os.ReadFile(path); string(got) != "why\n" {
		t.Errorf("got %q", got)
	}
}

func TestTheLogHasMilliseconds(t *testing.T) {
	var out strings.Builder
	New(&out, slog.LevelInfo).Info("hello")
	line := out.String()
	at := strings.TrimPrefix(line, `{"time":"`)[:24]
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", at); err != nil || strings.Count(line, "\n") != 1 {
		t.Errorf("%q: %v", line, err)
	}
}
