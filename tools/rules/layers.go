package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// layered maps packages to the maximum number of layers that their files form. A file may call only files in lower
// layers.
var layered = map[string]int{
	"jobset-controller/internal/orchestrator":             6,
	"jobset-controller/internal/orchestrator/app":         6,
	"jobset-controller/internal/orchestrator/credentials": 6,
	"jobset-controller/internal/orchestrator/webhook":     6,
	"shared/coordination/leader":                          6,
	"shared/coordination/leader/accounting":               6,
	"shared/coordination/valkey":                          7,
	"shared/coordination/worker":                          8,
}

func checkLayers(root string) ([]string, error) {
	var breaches []string
	for folder, most := range layered {
		calls, err := callsBetweenFiles(filepath.Join(root, folder))
		if err != nil {
			return nil, err
		}
		levels := 0
		for _, file := range slices.Sorted(maps.Keys(calls)) {
			level, circle := levelOf(file, calls, nil)
			if circle != nil {
				breaches = append(breaches, fmt.Sprintf("%s: the calls between files form a cycle: %s; move the shared code into a lower file", folder, strings.Join(circle, " -> ")))
				break
			}
			levels = max(levels, level)
		}
		if levels > most {
			breaches = append(breaches, fmt.Sprintf("%s: the calls between its files form %d levels, more than %d", folder, levels, most))
		}
	}
	return breaches, nil
}

// levelOf returns how many levels a file and the files it calls form, or a cycle of files.
func levelOf(file string, calls map[string]map[string]bool, above []string) (level int, circle []string) {
	if i := slices.Index(above, file); i >= 0 {
		return 0, append(slices.Clone(above[i:]), file)
	}
	for _, called := range slices.Sorted(maps.Keys(calls[file])) {
		below, circle := levelOf(called, calls, append(above, file))
		if circle != nil {
			return 0, circle
		}
		level = max(level, below)
	}
	return level + 1, nil
}

// callsBetweenFiles returns, for each file of a package, the files whose functions and methods it uses. Tests are
// excluded.
func callsBetweenFiles(folder string) (map[string]map[string]bool, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: empty{}, Error: func(error) {}} // types of other packages are unknown, which causes errors that are ignored
	this, _ := check.Check(folder, set, files, &info)
	calls := map[string]map[string]bool{}
	for _, file := range files {
		calls[fileOf(set, file.Pos())] = map[string]bool{}
	}
	for use, object := range info.Uses {
		from, to := fileOf(set, use.Pos()), fileOf(set, object.Pos())
		if _, is := object.(*types.Func); is && object.Pkg() == this && from != to {
			calls[from][to] = true
		}
	}
	return calls, nil
}

func fileOf(set *token.FileSet, pos token.Pos) string {
	return filepath.Base(set.Position(pos).Filename)
}

// empty imports every package as an empty package.
type empty struct{}

func (empty) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}
