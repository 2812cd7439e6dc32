package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Request is a kind of request that a program made; requests that differ in what is not here are one.
type Request struct {
	// Program is how it introduced itself to the API server.
	Program string
	// Own is whether it concerned the namespace of the program's account.
	Own bool
	// Group, Resource, Verb and Name are as those of a Grant.
	Group, Resource, Verb, Name string
	// Refused is whether RBAC forbade it.
	Refused bool
}

// String is how people read it.
func (r Request) String() string {
	return Grant{Program: r.Program, Own: r.Own, Group: r.Group, Resource: r.Resource, Verb: r.Verb, Name: r.Name}.String()
}

// event is what is read of a line of the audit log.
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

// Read shows each request of a service account in an audit log. A last line that is cut off, because somebody is writing it, is left out;
// any other that is no event is an error.
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

// requests are none for what has no resource, and two for a write that has made what was not there: it needs the right to create, too.
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
