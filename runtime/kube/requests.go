package kube

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/report"
)

const (
	// lastsAfter is how long the write of an object, or all writes of a kind, must have failed to be reported: shorter failures are
	// common.
	lastsAfter = 5 * time.Second
	// blockedAfter is how long all writes of a kind, or its watch, must have failed for this replica not to be ready.
	blockedAfter = 30 * time.Second
	// staleAfter is how long a failed write counts that is not repeated. Repetitions come at least every 10 s, and may take
	// writeTimeout.
	staleAfter = 90 * time.Second
	// maxFailingObjects is the number of objects per verb and kind that are remembered; the failures of all are counted.
	maxFailingObjects = 4096
	// maxRefusalBody is how much of a refusal is read, in bytes.
	maxRefusalBody = 64 << 10
)

// noCode is the code of a request without an answer.
const noCode = "none"

// Requests knows which writes and which watches fail, from the results of the Clients' requests. An answer to a write ends
// its failure, and a watch that the API server grants ends that of a kind.
type Requests struct {
	clock clock.Clock
	info  request.RequestInfoFactory

	mu struct {
		sync.Mutex
		writes  map[writeKind]*kindWrites
		open    map[*http.Request]openWrite
		watches map[string]time.Time // since when a kind cannot be listed or watched
	}
}

// writeKind is a verb and a kind of object as RBAC names them, such as create and pods/binding.
type writeKind struct{ verb, kind string }

// kindWrites are the writes of a verb and a kind.
type kindWrites struct {
	// since is the first failure after the last success, last the last one, of tries since then; since is zero if the last
	// write succeeded.
	since, last time.Time
	tries       int
	objects     map[types.NamespacedName]*failedWrite // whose last write failed
	codes       map[string]*writeCode
}

// failedWrite is the failure of an object's writes. The name is empty for objects that are named by the request's body.
type failedWrite struct {
	since, last time.Time
	tries       int
	code        string
	err         error
	told        bool // in an event of the pod
}

// writeCode is what fails with a code.
type writeCode struct {
	failures int64
	err      error // of the last one
}

// openWrite is a write without an answer yet.
type openWrite struct {
	kind   writeKind
	object types.NamespacedName
	since  time.Time
}

func newRequests(c clock.Clock) *Requests {
	r := &Requests{clock: c, info: request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}}
	r.mu.writes, r.mu.open, r.mu.watches = make(map[writeKind]*kindWrites), make(map[*http.Request]openWrite), make(map[string]time.Time)
	return r
}

// client returns a client whose requests are observed.
func (r *Requests) client(c *http.Client) *http.Client { return passing(c, r.pass) }

func (r *Requests) pass(q *http.Request, next http.RoundTripper) (*http.Response, error) {
	info := r.parse(q)
	if info == nil {
		return next.RoundTrip(q)
	}
	kind := info.Resource
	if info.APIGroup != "" {
		kind += "." + info.APIGroup
	}
	switch info.Verb {
	case "create", "update", "patch", "delete":
		if info.APIGroup == "authorization.k8s.io" || info.APIGroup == "authentication.k8s.io" { // questions
			return next.RoundTrip(q)
		}
		if info.Subresource != "" {
			kind += "/" + info.Subresource
		}
		what := openWrite{writeKind{info.Verb, kind}, types.NamespacedName{Namespace: info.Namespace, Name: info.Name}, r.clock.Now()}
		r.mu.Lock()
		r.mu.open[q] = what
		r.mu.Unlock()
		response, err := next.RoundTrip(q)
		code, failure := resultOf(q, response, err)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.mu.open, q)
		r.wrote(what, code, failure)
		return response, err
	case "list", "watch":
		response, err := next.RoundTrip(q)
		_, failure := resultOf(q, response, err)
		r.watched(kind, info.Verb, failure)
		return response, err
	}
	return next.RoundTrip(q)
}

// parse returns what a request is about; nil if it is not about objects. The server's address may have a path.
func (r *Requests) parse(q *http.Request) *request.RequestInfo {
	path := q.URL.Path
	for _, prefix := range []string{"/apis/", "/api/"} {
		if at := strings.Index(path, prefix); at >= 0 {
			url := *q.URL
			url.Path = path[at:]
			info, err := r.info.NewRequestInfo(&http.Request{Method: q.Method, URL: &url})
			if err != nil || !info.IsResourceRequest {
				return nil
			}
			return info
		}
	}
	return nil
}

// resultOf returns how a request ended: with which code, and the failure. A request that was not sent, or that nobody waits for, has
// no code.
func resultOf(q *http.Request, response *http.Response, err error) (code string, failure error) {
	switch {
	case errors.Is(err, ErrLeaseLost), err != nil && errors.Is(context.Cause(q.Context()), context.Canceled):
		return "", nil
	case err != nil:
		return noCode, err
	case response.StatusCode < http.StatusBadRequest:
		return strconv.Itoa(response.StatusCode), nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusalBody))
	response.Body = unread{io.MultiReader(bytes.NewReader(text), response.Body), response.Body}
	failure = fmt.Errorf("the server answered %s", response.Status)
	if object, _, failed := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil); err == nil && failed == nil {
		if status, ok := object.(*metav1.Status); ok && status.Message != "" {
			failure = &apierrors.StatusError{ErrStatus: *status}
		}
	}
	return strconv.Itoa(response.StatusCode), failure
}

// unread is the body of a response whose beginning was read.
type unread struct {
	io.Reader
	io.Closer
}

// of returns the writes of a kind. The caller holds r.mu.
func (r *Requests) of(kind writeKind) *kindWrites {
	k := r.mu.writes[kind]
	if k == nil {
		k = &kindWrites{objects: make(map[types.NamespacedName]*failedWrite), codes: make(map[string]*writeCode)}
		r.mu.writes[kind] = k
	}
	return k
}

// wrote records the result of a write. The caller holds r.mu.
func (r *Requests) wrote(w openWrite, code string, failure error) {
	switch {
	case code == "":
		return
	case failure == nil:
		if k := r.mu.writes[w.kind]; k != nil {
			k.since, k.tries = time.Time{}, 0
			delete(k.objects, w.object)
		}
		return
	}
	k, now := r.of(w.kind), r.clock.Now()
	if !apierrors.IsConflict(failure) && !apierrors.IsNotFound(failure) { // these are about one object
		if k.since.IsZero() || now.Sub(k.last) >= staleAfter {
			k.since, k.tries = w.since, 0
		}
		k.last = now
		k.tries++
	}
	c := k.codes[code]
	if c == nil {
		c = &writeCode{}
		k.codes[code] = c
	}
	c.failures++
	c.err = failure
	o := k.objects[w.object]
	if o == nil || now.Sub(o.last) >= staleAfter {
		if o == nil && len(k.objects) >= maxFailingObjects {
			return
		}
		o = &failedWrite{since: w.since}
		k.objects[w.object] = o
	}
	o.last, o.code, o.err = now, code, failure
	o.tries++
}

// watched records the result of a list or watch.
func (r *Requests) watched(kind, verb string, failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failing := r.mu.watches[kind]
	switch {
	case apierrors.IsResourceExpired(failure), apierrors.IsGone(failure): // as informers expect
	case failure != nil && !failing:
		r.mu.watches[kind] = r.clock.Now()
	case failure == nil && verb == "watch":
		delete(r.mu.watches, kind)
	}
}

// forget ends the failures of a pod's writes.
func (r *Requests) forget(pod types.NamespacedName) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, k := range r.mu.writes {
		if kind.ofPods() {
			delete(k.objects, pod)
		}
	}
}

// ofPods reports whether pods are written.
func (k writeKind) ofPods() bool { return k.kind == "pods" || strings.HasPrefix(k.kind, "pods/") }

// lasts reports whether the object's failure is to be reported.
func (o *failedWrite) lasts(now time.Time) bool {
	return o.last.Sub(o.since) >= lastsAfter || o.tries > 1 && now.Sub(o.since) >= lastsAfter
}

// failsWholly returns for how long all writes had failed at the last one. A single object that fails is no failure of the kind.
func (k *kindWrites) failsWholly(now time.Time) time.Duration {
	if k.since.IsZero() || now.Sub(k.last) >= staleAfter || k.tries < 2 {
		return 0
	}
	if len(k.objects) < 2 {
		for name := range k.objects {
			if name.Name != "" {
				return 0
			}
		}
	}
	return k.last.Sub(k.since) // not until now: a failure that nothing repeats does not last
}

// FailingWrites are writes of a verb and a kind that fail with a code: the status of HTTP, or none without an answer.
type FailingWrites struct {
	Verb, Kind, Code string
	// Failures counts the failed requests so far, and Objects those whose last write failed.
	Failures int64
	Objects  int
	// Oldest is how long the first of these objects could not be written; 0 without objects. Wholly is how long all writes of the
	// verb and the kind have failed, whatever the code.
	Oldest, Wholly time.Duration
	// Lasts reports whether it fails for long enough to be told.
	Lasts bool
	// Example is an object, and Err why it could not be written, if there are objects; otherwise Err is of the last failure.
	Example types.NamespacedName
	Err     error
}

// Writes returns the writes that failed at some time, by verb, kind and code.
func (r *Requests) Writes() []FailingWrites {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	r.overdue(now)
	var out []FailingWrites
	for kind, k := range r.mu.writes {
		maps.DeleteFunc(k.objects, func(_ types.NamespacedName, o *failedWrite) bool { return now.Sub(o.last) >= staleAfter })
		wholly := k.failsWholly(now)
		for code, c := range k.codes {
			f := FailingWrites{Verb: kind.verb, Kind: kind.kind, Code: code, Failures: c.failures, Wholly: wholly, Err: c.err}
			for name, o := range k.objects {
				if o.code != code {
					continue
				}
				f.Objects++
				f.Lasts = f.Lasts || o.lasts(now) || wholly >= lastsAfter
				if age := now.Sub(o.since); f.Objects == 1 || age > f.Oldest || age == f.Oldest && name.String() < f.Example.String() {
					f.Oldest, f.Example, f.Err = age, name, o.err
				}
			}
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b FailingWrites) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// errNoAnswer is the failure of a write that the server has not answered yet.
var errNoAnswer = errors.New("the server has not answered yet")

// overdue counts writes without an answer as failing. The caller holds r.mu.
func (r *Requests) overdue(now time.Time) {
	for _, w := range r.mu.open {
		if now.Sub(w.since) < lastsAfter {
			continue
		}
		k := r.of(w.kind)
		if o := k.objects[w.object]; o == nil || o.code != noCode {
			r.wrote(w, noCode, errNoAnswer)
		} else {
			k.last, o.last = now, now
		}
	}
}

// OfPod returns the failure of a pod's writes, that of its binding first; nil if none fails.
func (r *Requests) OfPod(pod types.NamespacedName) (out *report.FailedWrite) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overdue(r.clock.Now())
	for kind, k := range r.mu.writes {
		o := k.objects[pod]
		if !kind.ofPods() || o == nil || r.clock.Now().Sub(o.last) >= staleAfter {
			continue
		}
		if out == nil || kind.kind == bindings || out.Kind != bindings && o.since.Before(out.Since) {
			out = &report.FailedWrite{Verb: kind.verb, Kind: kind.kind, Since: o.since, Tries: o.tries, Error: o.err.Error()}
		}
	}
	return out
}

// bindings is the kind of a binding.
const bindings = "pods/binding"

// lateBindings returns the bindings that have failed for lastsAfter, each once.
func (r *Requests) lateBindings() map[types.NamespacedName]error {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.mu.writes[writeKind{"create", bindings}]
	if k == nil {
		return nil
	}
	out := make(map[types.NamespacedName]error)
	for name, o := range k.objects {
		if !o.told && o.lasts(r.clock.Now()) {
			o.told = true
			out[name] = o.err
		}
	}
	return out
}

// Blocked returns an error that names each verb and kind whose writes have all failed for blockedAfter, with the last error.
func (r *Requests) Blocked() error {
	var errs []error
	last := writeKind{}
	for _, f := range r.Writes() {
		if kind := (writeKind{f.Verb, f.Kind}); f.Wholly >= blockedAfter && f.Objects > 0 && kind != last {
			last = kind
			errs = append(errs, fmt.Errorf("%s %s: every write has failed for %v: %w", f.Verb, f.Kind, f.Wholly.Round(time.Second), f.Err))
		}
	}
	return errors.Join(errs...)
}

// watchFailing returns how long a kind cannot be watched; 0 if it is.
func (r *Requests) watchFailing(kind string) time.Duration {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if since, failing := r.mu.watches[kind]; failing {
		return max(r.clock.Now().Sub(since), 1)
	}
	return 0
}
