package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Request is a kind of request sent by a program. Requests that differ only in other respects are treated as the
// same.
type Request struct {
	// Program is the name in the user agent.
	Program string
	// Own reports whether the request was in the namespace of the program's account.
	Own bool
	// Group, Resource, Verb and Name are as in a Grant.
	Group, Resource, Verb, Name string
	// Refused reports whether RBAC rejected the request.
	Refused bool
}

// String returns the text of the corresponding Grant.
func (r Request) String() string {
	return Grant{Program: r.Program, Own: r.Own, Group: r.Group, Resource: r.Resource, Verb: r.Verb, Name: r.Name}.String()
}

// event holds the fields that are read from each line of the audit log.
type event struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

const (
	account  = "system:serviceaccount:"
	decision = "authorization.k8s.io/decision"
)

// Read calls show for each request of a service account in an audit log. It ignores an incomplete last line, which is
// still being written. Any other line that is not an event is an error.
func Read(log io.Reader, show func(Request)) error {
	for reader, line := bufio.NewReader(log), 1; ; line++ {
		raw, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
		var e event
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("line %d of the audit log: %w", line, err)
		}
		for _, r := range e.requests() {
			show(r)
		}
	}
}

// requests returns the requests that an event represents: none if it has no resource. It returns two for a write that
// created the object, because this also requires the permission to create it.
func (e event) requests() []Request {
	of, found := strings.CutPrefix(e.User.Username, account)
	if !found || e.ObjectRef == nil {
		return nil
	}
	namespace, _, _ := strings.Cut(of, ":")
	program, _, _ := strings.Cut(e.UserAgent, "/")
	r := Request{
		Program: program, Own: e.ObjectRef.Namespace == namespace, Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource,
		Verb: e.Verb, Name: e.ObjectRef.Name, Refused: e.Annotations[decision] == "forbid",
	}
	if e.ObjectRef.Subresource != "" {
		r.Resource += "/" + e.ObjectRef.Subresource
	}
	all := []Request{r}
	if (r.Verb == "patch" || r.Verb == "update") && e.ResponseStatus.Code == http.StatusCreated {
		r.Verb = "create"
		all = append(all, r)
	}
	return all
}
