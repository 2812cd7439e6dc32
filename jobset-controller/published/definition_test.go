package published

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const definition = "jobset.x-k8s.io_jobsets.yaml"

// excepted lists fields that differ intentionally. Two have a rule that the upstream project added after v0.12:
// replicas of 0 or more, and claim templates without a namespace. The upstream definition requires the order of a
// startup policy, so our default for it does not affect any object.
var excepted = map[string]bool{
	".spec.replicatedJobs[].replicas": true, ".spec.volumeClaimPolicies[].templates": true, ".spec.startupPolicy.startupPolicyOrder": true,
}

func schema(t *testing.T, file string) (*apiextensions.JSONSchemaProps, []apiextensions.CustomResourceColumnDefinition) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema, crd.Spec.Versions[0].AdditionalPrinterColumns
}

// Our definition accepts everything that the upstream one accepts, with the same defaults. The upstream printer columns
// come first.
func TestOurDefinitionIsASuperset(t *testing.T) {
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset").Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs, theirColumns := schema(t, filepath.Join(strings.TrimSpace(string(module)), "config", "components", "crd", "bases", definition))
	ours, columns := schema(t, filepath.Join("..", "..", "charts", "jobset-controller", "files", "crds", definition))
	for _, complaint := range narrower("", theirs, ours) {
		if path, _, _ := strings.Cut(complaint, ":"); !excepted[path] {
			t.Error(complaint)
		}
	}
	names := func(list []apiextensions.CustomResourceColumnDefinition) (all []string) {
		for _, c := range list {
			all = append(all, c.Name+"="+c.JSONPath)
		}
		return all
	}
	var kept []string
	for _, name := range names(columns) {
		if slices.Contains(names(theirColumns), name) {
			kept = append(kept, name)
		}
	}
	if diff := cmp.Diff(names(theirColumns), kept); diff != "" {
		t.Errorf("columns: %s", diff)
	}
}

// narrower returns the fields for which our definition accepts less than the upstream one.
func narrower(path string, theirs, ours *apiextensions.JSONSchemaProps) []string {
	var found []string
	complain := func(what string, a, b any) {
		found = append(found, fmt.Sprintf("%s: %s is %v there and %v here", path, what, a, b))
	}
	for what, pair := range map[string][2]any{
		"type":     {theirs.Type, ours.Type},
		"format":   {theirs.Format, ours.Format},
		"default":  {text(theirs.Default), text(ours.Default)},
		"pattern":  {theirs.Pattern, ours.Pattern},
		"listType": {theirs.XListType, ours.XListType},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			complain(what, pair[0], diff)
		}
	}
	for _, name := range ours.Required {
		if !slices.Contains(theirs.Required, name) {
			complain("required", theirs.Required, ours.Required)
		}
	}
	for _, value := range theirs.Enum {
		if !slices.ContainsFunc(ours.Enum, func(e apiextensions.JSON) bool { return string(e.Raw) == string(value.Raw) }) {
			complain("enum", theirs.Enum, ours.Enum)
		}
	}
	if diff := cmp.Diff([]any{theirs.MaxItems, theirs.Minimum, theirs.MaxLength}, []any{ours.MaxItems, ours.Minimum, ours.MaxLength}); diff != "" {
		found = append(found, path+": bounds differ: "+diff)
	}
	if len(ours.XValidations) > len(theirs.XValidations) {
		complain("rules", len(theirs.XValidations), len(ours.XValidations))
	}
	for name, property := range theirs.Properties {
		mine, has := ours.Properties[name]
		if !has {
			found = append(found, path+"."+name+" is missing")
			continue
		}
		found = append(found, narrower(path+"."+name, &property, &mine)...)
	}
	if theirs.Items != nil && ours.Items != nil {
		found = append(found, narrower(path+"[]", theirs.Items.Schema, ours.Items.Schema)...)
	}
	return found
}

func text(j *apiextensions.JSON) string {
	if j == nil {
		return ""
	}
	return string(j.Raw)
}
