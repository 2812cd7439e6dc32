package process

import (
	"os"
	"testing"
)

func TestParseStat(t *testing.T) {
	const tail = " S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 2 0 12345 1000 2 18446744073709551615\n"
	want := stat{state: 'S', parent: 7, session: 9, threads: 2, started: 12345}
	for name, line := range map[string]string{
		"a plain name":                       "42 (python)" + tail,
		"a name with spaces and parentheses": "42 (a) R 1 1 1 (b))" + tail,
		"a name with a newline":              "42 (a\nb)" + tail,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseStat([]byte(line)); err != nil || got != want {
				t.Errorf("got %+v (%v), want %+v", got, err, want)
			}
		})
	}
}

func TestAlive(t *testing.T) {
	for name, tc := range map[string]struct {
		s    stat
		want bool
	}{
		"a sleeper":                     {stat{state: 'S', threads: 1}, true},
		"a stopped process":             {stat{state: 'T', threads: 1}, true},
		"a zombie":                      {stat{state: 'Z', threads: 1}, false},
		"a zombie with a living thread": {stat{state: 'Z', threads: 2}, true},
		"a process being removed":       {stat{state: 'X', threads: 1}, false},
	} {
		if got := tc.s.alive(); got != tc.want {
			t.Errorf("%s: alive %v", name, got)
		}
	}
}

func TestDescent(t *testing.T) {
	all := map[int]stat{1: {}, 2: {parent: 1}, 3: {parent: 2}, 4: {parent: 1}, 5: {parent: 6}, 6: {parent: 5}}
	for pid, want := range map[int]bool{2: true, 3: true, 4: false, 1: false, 5: false, 99: false} {
		if got := descends(all, pid, map[int]bool{2: true}); got != want {
			t.Errorf("process %d descends from 2: %v", pid, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	line, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte("1 (x) S"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if s, err := parseStat(line); err == nil && s.state == 0 {
			t.Errorf("%q has no state", line)
		}
	})
}

func BenchmarkProcesses(b *testing.B) {
	for b.Loop() {
		all, err := processes()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(all)), "processes")
	}
}
