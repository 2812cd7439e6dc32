package charts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	promql "github.com/prometheus/prometheus/promql/parser"
)

// controllersIn returns the names of all controllers that the code in a directory registers.
func controllersIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	constants, fields, named := map[string]string{}, map[string][]string{}, []ast.Expr{}
	var packages []string // packages of the expressions in named
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.ValueSpec:
				for i, value := range n.Values {
					if text, literal := stringOf(value); literal {
						constants[filepath.Dir(path)+"."+n.Names[i].Name] = text
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					if text, literal := stringOf(n.Value); literal {
						field := filepath.Dir(path) + "." + key.Name
						fields[field] = append(fields[field], text)
					}
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Named" && ofBuilder(s.X) {
					named, packages = append(named, n.Args[0]), append(packages, filepath.Dir(path))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, argument := range named {
		if field, ok := argument.(*ast.SelectorExpr); ok && len(fields[packages[i]+"."+field.Sel.Name]) > 0 {
			names = append(names, fields[packages[i]+"."+field.Sel.Name]...)
			continue
		}
		name, literal := stringOf(argument)
		if constant, ok := argument.(*ast.Ident); ok {
			name, literal = constants[packages[i]+"."+constant.Name], true
		}
		if !literal || name == "" {
			t.Fatalf("%s: the name of a controller is neither a literal nor a constant or a field of its package", packages[i])
		}
		names = append(names, name)
	}
	return names
}

func stringOf(e ast.Expr) (string, bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// ofBuilder reports whether a chain of calls starts from a controller-runtime builder.
func ofBuilder(e ast.Expr) bool {
	for {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		if s.Sel.Name == "NewControllerManagedBy" {
			return true
		}
		e = s.X
	}
}

// patternsOf returns the regular expressions in an alert for a label.
func patternsOf(t *testing.T, alert alert, label string) (patterns []string) {
	t.Helper()
	expr, err := promql.ParseExpr(alert.Expr)
	if err != nil {
		t.Fatal(err)
	}
	for _, matchers := range promql.ExtractSelectors(expr) {
		for _, matcher := range matchers {
			if matcher.Name == label {
				patterns = append(patterns, matcher.Value)
			}
		}
	}
	return patterns
}

// controllersOf returns the names of the controllers that a chart runs.
func controllersOf(t *testing.T, chart string) []string {
	t.Helper()
	folder := filepath.Join("..", chart, "internal")
	if chart == inPlaceChart {
		folder = "../jobset-controller/internal/orchestrator"
	}
	return controllersIn(t, folder)
}

// If a controller's name does not match an alert's pattern, the alert never fires for it.
func TestAlertsCoverAllControllers(t *testing.T) {
	labels := map[string]string{"HoldfastControllerErrors": "controller", "HoldfastControllerFallsBehind": "name"}
	for chart := range installed {
		names := controllersOf(t, chart)
		if len(names) == 0 {
			t.Errorf("%s: no controllers found", chart)
		}
		for _, alert := range alertsOf(t, chart) {
			label := labels[alert.Name]
			if label == "" {
				continue
			}
			patterns := patternsOf(t, alert, label)
			if len(patterns) == 0 {
				t.Errorf("%s: %s has no label %s", chart, alert.Name, label)
			}
			for _, pattern := range patterns {
				checkNames(t, chart+", "+alert.Name, pattern, names)
			}
		}
	}
}

// checkNames checks that the pattern matches every name, and that each alternative in the pattern matches at least one
// name.
func checkNames(t *testing.T, at, pattern string, names []string) {
	t.Helper()
	for _, name := range names {
		if !regexp.MustCompile("^(?:" + pattern + ")$").MatchString(name) {
			t.Errorf("%s: %s does not match the controller %s", at, pattern, name)
		}
	}
	for _, part := range strings.Split(pattern, "|") {
		if !slices.Contains(names, part) {
			t.Errorf("%s: unknown controller %s", at, part)
		}
	}
}
