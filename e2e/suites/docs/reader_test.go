//go:build e2e

package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/shared/testing/docs"
)

// visit describes how to run the commands of a page.
type visit struct {
	page string
	// before lists commands that set up the page's prerequisites.
	before []string
	// replace maps placeholders to values.
	replace map[string]string
	// rules apply to commands that begin with the key. All other commands run unchanged and must succeed.
	rules map[string]rule
}

// rule describes how to run a command.
type rule struct {
	// skip is the reason why the command is not run.
	skip string
	// first lists commands to run before this one, for a reader who takes this alternative instead of the previous one.
	first []string
	// says lists substrings of the expected output. The command is repeated until it prints them.
	says []string
	// fails means that the command must fail, as the page describes.
	fails bool
	// endless means that the command runs until it is stopped.
	endless bool
	// then lists commands to repeat afterwards until they succeed.
	then []string
}

// patience is the limit for one command. The images are already loaded, but helm waits for pods.
const patience = 3 * time.Minute

// read runs all commands of the page.
func (v visit) read(t *testing.T) {
	t.Helper()
	page := find(t, v.page)
	if err := framework.Until(t.Context(), "the installation has settled", settled); err != nil {
		t.Fatal(err)
	}
	for _, command := range v.before {
		v.must(t, command)
	}
	used := map[string]bool{}
	for _, command := range page.Commands() {
		text := command.Text
		for word, own := range v.replace {
			text = strings.ReplaceAll(text, word, own)
		}
		rule := v.ruleOf(command.Text, used)
		if rule.skip != "" {
			t.Logf("skipped: %s (%s)", command.Text, rule.skip)
			continue
		}
		for _, command := range rule.first {
			v.must(t, command)
		}
		if err := rule.carryOut(t, text); err != nil {
			t.Fatalf("%s, line %d: %v", v.page, command.Line, err)
		}
		for _, wait := range rule.then {
			if err := framework.Until(t.Context(), wait, func(context.Context) error { return typed(t, wait, rule).err }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for beginning := range v.rules {
		if !used[beginning] {
			t.Errorf("%s has no command %q", v.page, beginning)
		}
	}
}

func (v visit) ruleOf(text string, used map[string]bool) rule {
	for beginning, rule := range v.rules {
		if strings.HasPrefix(text, beginning) {
			used[beginning] = true
			return rule
		}
	}
	return rule{}
}

func (v visit) must(t *testing.T, command string) {
	t.Helper()
	if got := typed(t, command, rule{}); got.err != nil {
		t.Fatalf("before %s: %v", v.page, got.err)
	}
}

// carryOut runs a command once, or until it prints what the rule expects.
func (r rule) carryOut(t *testing.T, command string) error {
	if len(r.says) == 0 {
		got := typed(t, command, r)
		if r.fails && got.err == nil {
			return fmt.Errorf("%s succeeded, but should have failed: %s", command, got.out)
		}
		if r.fails {
			return nil
		}
		return got.err
	}
	return framework.Until(t.Context(), "the output is as the page shows", func(context.Context) error {
		got := typed(t, command, r)
		if (got.err != nil) != r.fails {
			return fmt.Errorf("%s: %w: %s", command, got.err, got.out)
		}
		for _, part := range r.says {
			if !strings.Contains(got.out, part) {
				return fmt.Errorf("%s does not print %q: %s", command, part, got.out)
			}
		}
		return nil
	})
}

// answer is the result of a command.
type answer struct {
	out string
	err error
}

// logged maps each command line to its last output.
var logged = map[string]string{}

// typed runs a line in a shell, in the root of the repository.
func typed(t *testing.T, line string, r rule) answer {
	limit := patience
	if r.endless {
		limit = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
	shell.Dir = shared.File()
	shell.WaitDelay = time.Second
	shell.Env = append(os.Environ(), "KUBECONFIG="+shared.Cluster.KubeconfigPath(), "PATH="+programs+":"+shared.File("bin")+":"+os.Getenv("PATH"),
		"HELM_CACHE_HOME="+programs, "HELM_CONFIG_HOME="+programs, "HELM_DATA_HOME="+programs, "KUBECACHEDIR="+programs)
	began := time.Now()
	out, err := shell.CombinedOutput()
	if r.endless && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = nil
	}
	if logged[line] != string(out) { // a repeated command would fill the log with the same output
		t.Logf("$ %s [%.1f s]\n%s", line, time.Since(began).Seconds(), out)
		logged[line] = string(out)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", line, err, out)
	}
	return answer{string(out), err}
}

func find(t *testing.T, path string) docs.Page {
	t.Helper()
	pages, err := docs.Pages(shared.File())
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if page.Path == path {
			return page
		}
	}
	t.Fatalf("there is no page %s", path)
	return docs.Page{}
}
