package report

import "time"

// FailedWrite is a write of an object to the API server that fails and is retried.
type FailedWrite struct {
	// Verb and Kind are as in RBAC, such as create and pods/binding.
	Verb string `json:"verb"`
	Kind string `json:"kind"`
	// Since is when it failed first, and Tries counts the requests since then.
	Since time.Time `json:"since"`
	Tries int       `json:"tries"`
	Error string    `json:"error"`
}
