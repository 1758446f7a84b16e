package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Request is a request that a user has sent to the API server.
type Request struct {
	User User
	// Verb and the others use the terms of RBAC rules. Resource includes the subresource, as in
	// pods/binding; it is empty for a non-resource URL.
	Verb, Group, Resource, Namespace, Name, URL string
	// Status is the HTTP status.
	Status int32
}

// Forbidden reports whether the API server rejected the request for lack of a permission.
func (r Request) Forbidden() bool { return r.Status == http.StatusForbidden }

// auditFlags make the API server log the requests of Config.Audited.
func (c *Cluster) auditFlags() []string {
	if len(c.config.Audited) == 0 {
		return nil
	}
	return []string{"--audit-policy-file=" + c.path("audit-policy.json"), "--audit-log-path=" + c.path("audit.log")}
}

func (c *Cluster) writeAuditPolicy() error {
	if len(c.config.Audited) == 0 {
		return nil
	}
	var users []string
	for _, u := range c.config.Audited {
		users = append(users, string(u))
	}
	policy, err := json.Marshal(auditv1.Policy{
		TypeMeta:   metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"},
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules:      []auditv1.PolicyRule{{Level: auditv1.LevelMetadata, Users: users}, {Level: auditv1.LevelNone}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("audit-policy.json"), policy, 0o600)
}

// Requests returns those of Config.Audited that the API server has answered so far, in its
// order. The first from requests are left out; a watch appears twice: when it begins, and when
// it ends.
func (c *Cluster) Requests(from int) ([]Request, error) {
	text, err := os.ReadFile(c.path("audit.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(text, []byte("\n"))
	var out []Request
	for _, line := range lines[:len(lines)-1] { // the last one is empty, or not finished
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		r := Request{User: User(e.User.Username), Verb: e.Verb, URL: e.RequestURI}
		if e.ObjectRef != nil {
			r.Group, r.Resource, r.Namespace, r.Name = e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name
			if e.ObjectRef.Subresource != "" {
				r.Resource += "/" + e.ObjectRef.Subresource
			}
		}
		if e.ResponseStatus != nil {
			r.Status = e.ResponseStatus.Code
		}
		out = append(out, r)
	}
	return slices.Clip(out[min(from, len(out)):]), nil
}
