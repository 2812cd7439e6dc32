package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// notAboutMoves lists rescheduler reasons that do not indicate whether a pod is moved.
var notAboutMoves = map[string]string{
	"NotLongEnough":     "not published",
	"TooLongAgo":        "not published",
	"InvalidAnnotation": "about a value",
	"ExclusionsLifted":  "about a pod that has no node",
	"NodeTainted":       "about a node",
}

// reasonsIn returns the values of a file's constants whose names satisfy is.
func reasonsIn(t *testing.T, file string, is func(name string) bool) (reasons []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "rescheduler", "internal", file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || !is(spec.Names[0].Name) || len(spec.Values) == 0 {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			reason, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, reason)
		}
		return true
	})
	return reasons
}

// Every reason of the rescheduler is in exactly one of moveReasons and notAboutMoves.
func TestReasonsMatchTheRescheduler(t *testing.T) {
	of := reasonsIn(t, filepath.Join("policy", "decision.go"), ast.IsExported)
	of = append(of, reasonsIn(t, filepath.Join("controller", "rescheduling", "events.go"), func(name string) bool { return strings.HasPrefix(name, "reason") })...)
	if len(of) < 15 {
		t.Fatalf("only found %q", of)
	}
	known := map[string]bool{}
	for _, reason := range of {
		known[reason] = true
		if moveReasons[reason] == (notAboutMoves[reason] != "") {
			t.Errorf("%s is in both lists, or in none", reason)
		}
	}
	for reason := range moveReasons {
		if !known[reason] {
			t.Errorf("the rescheduler has no reason %s", reason)
		}
	}
}
