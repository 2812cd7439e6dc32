package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Grant is one permission of a program: one verb on one resource.
type Grant struct {
	// Program is the program that has the permission.
	Program string `json:"program"`
	// Own limits the permission to the namespace of the program's account, as a Role does.
	Own bool `json:"own,omitempty"`
	// Group is the API group, empty for the core group.
	Group string `json:"group,omitempty"`
	// Resource may include a subresource after a slash.
	Resource string `json:"resource"`
	Verb     string `json:"verb"`
	// Name limits the permission to one object; empty means all objects.
	Name string `json:"name,omitempty"`
}

// String returns a text such as `jobset: delete jobs.batch`.
func (g Grant) String() string {
	resource := g.Resource
	if g.Group != "" {
		kind, sub, _ := strings.Cut(resource, "/")
		if resource = kind + "." + g.Group; sub != "" {
			resource += "/" + sub
		}
	}
	if g.Name != "" {
		resource += " " + g.Name
	}
	if g.Own {
		resource += " (own namespace)"
	}
	return fmt.Sprintf("%s: %s %s", g.Program, g.Verb, resource)
}

// Grants returns the individual permissions in the rules of a program's role. own reports whether it is a Role.
// Rules about URLs are left out.
func Grants(program string, own bool, rules []rbacv1.PolicyRule) []Grant {
	var all []Grant
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, Grant{Program: program, Own: own, Group: group, Resource: resource, Verb: verb, Name: name})
					}
				}
			}
		}
	}
	return all
}

// Covers reports whether the permission allows the request.
func (g Grant) Covers(r Request) bool {
	return g.Program == r.Program && g.Group == r.Group && g.Resource == r.Resource && g.Verb == r.Verb &&
		(!g.Own || r.Own) && (g.Name == "" || g.Name == r.Name)
}

// listing returns the permission to list the same resource.
func (g Grant) listing() Grant {
	g.Verb, g.Name = "list", ""
	return g
}

// Sort sorts permissions by their text.
func Sort(grants []Grant) {
	slices.SortFunc(grants, func(a, b Grant) int { return cmp.Compare(a.String(), b.String()) })
}
