package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// writeCRDs lists the fields of our kinds. What Kubernetes defines, the templates of pods and volumes, is left to `kubectl explain`.
func writeCRDs() error {
	p := newPage("Kinds", "The fields of the kinds that the charts define. Templates of Jobs, pods and volumes are those of Kubernetes.")
	files, err := filepath.Glob(filepath.Join("*", "files", "crds", "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(raw, &crd); err != nil {
			return err
		}
		for _, version := range crd.Spec.Versions {
			p.printf("\n## %s (%s/%s)\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name)
			p.table("field", "type", "what")
			for _, part := range []string{"spec", "status"} {
				p.fields(part, version.Schema.OpenAPIV3Schema.Properties[part])
			}
		}
	}
	return p.write("crds.md")
}

// foreign are fields whose types are Kubernetes' own.
var foreign = []string{"template", "templates", "metadata", "conditions", "tolerations", "schedulingGates"}

func (p *page) fields(prefix string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		path := prefix + "." + name
		p.row(code(path), typeOf(field), field.Description)
		if slices.Contains(foreign, name) {
			continue
		}
		p.fields(path, field)
		if field.Items != nil && field.Items.Schema != nil {
			p.fields(path+"[]", *field.Items.Schema)
		}
	}
}

func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	}
	return s.Type
}
