package image

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLibraries(t *testing.T) {
	for name, c := range map[string]struct {
		out     string
		want    map[string]string
		wantErr string
	}{
		"a library, the loader and the kernel's part": {
			out: "\tlinux-vdso.so.1 (0x00007f6247073000)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f62466a5000)\n" +
				"\t/lib64/ld-linux-x86-64.so.2 (0x00007f6247075000)\n",
			want: map[string]string{
				"/lib/x86_64-linux-gnu/libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
				"/lib64/ld-linux-x86-64.so.2":     "/lib64/ld-linux-x86-64.so.2",
			},
		},
		"a program with a loader of its own": {
			out:  "\t/opt/own/ld-linux-x86-64.so.2 => /lib64/ld-linux-x86-64.so.2 (0x00007f6247075000)\n",
			want: map[string]string{"/opt/own/ld-linux-x86-64.so.2": "/opt/own/ld-linux-x86-64.so.2"},
		},
		"one that is missing": {out: "\tliblzf.so.1 => not found\n", wantErr: "liblzf.so.1 is not installed"},
		"a static program":    {out: "\tstatically linked\n", want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseLibraries([]byte(c.out))
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != c.wantErr {
				t.Errorf("error %q, want %q", message, c.wantErr)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestLibrariesOfAProgramOfThisHost(t *testing.T) {
	files, err := Libraries(t.Context(), "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 2 {
		t.Errorf("/bin/sh needs a C library and a loader, found %v", files)
	}
}
