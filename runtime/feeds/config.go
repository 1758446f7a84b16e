package feeds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// The kind and version of a file of feeds.
const (
	APIVersion = "berth.dev/v1alpha1"
	Kind       = "Feeds"
)

// Limits of a file of feeds.
const (
	maxFile     = 1 << 20 // bytes
	maxFeeds    = 64
	minInterval = 5 * time.Second
	maxInterval = time.Hour
)

// The well-known feeds. They need no unit.
const (
	CPU    = "node.cpu.usage"    // milli
	Memory = "node.memory.usage" // bytes
)

// File is a file of feeds.
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Feeds      []Feed `json:"feeds"`
}

// Feed declares one number of each node.
type Feed struct {
	// Name is a DNS subdomain, such as node.cpu.usage.
	Name string `json:"name"`
	// Unit is a word, such as milli or bytes. A plugin expects one, and is refused if it is another.
	Unit   string `json:"unit,omitempty"`
	Source Source `json:"source"`
	Key    Key    `json:"key,omitzero"`
	// Interval is the time between two rounds; 30s if not given.
	Interval metav1.Duration `json:"interval,omitzero"`
	// Step is to what values are rounded, in the unit; 0 for 100 milli or 256 MiB of the well-known feeds, and 1 of others.
	Step int64 `json:"step,omitempty"`
	// MaxAge is after which time without a sample a value is stale; 0 means six intervals.
	MaxAge metav1.Duration `json:"maxAge,omitzero"`
	// Settle is how long after its assignment a pod may use less than it will; 0 means an interval.
	Settle metav1.Duration `json:"settle,omitzero"`
}

// Key says what the keys of values are: the names of nodes, or values of one of their labels.
type Key struct {
	NodeLabel string `json:"nodeLabel,omitempty"`
}

// Source says where numbers come from. One of the fields is given.
type Source struct {
	MetricsAPI *MetricsAPI `json:"metricsAPI,omitempty"`
	Prometheus *Prometheus `json:"prometheus,omitempty"`
	File       *FileSource `json:"file,omitempty"`
}

// MetricsAPI is metrics.k8s.io of the API server. It has the well-known feeds.
type MetricsAPI struct{}

// Prometheus is an instant query.
type Prometheus struct {
	// URL is that of the server, without /api/v1/query.
	URL   string `json:"url"`
	Query string `json:"query"`
	// Label is the label of series that has the key; node if not given.
	Label string `json:"label,omitempty"`
	// TimeQuery (instead of Lag) is a query for when the window of the sample of each key began, in seconds since 1970.
	TimeQuery string `json:"timeQuery,omitempty"`
	// Lag is how long before the evaluation the window of a sample begins.
	Lag metav1.Duration `json:"lag,omitzero"`
	// Scale is what values are multiplied by, such as 1000 for milli; 1 if not given.
	Scale float64 `json:"scale,omitempty"`
	// TokenFile has a bearer token, CAFile the certificates of the server's authority, CertFile and KeyFile a client's.
	TokenFile string `json:"tokenFile,omitempty"`
	CAFile    string `json:"caFile,omitempty"`
	CertFile  string `json:"certFile,omitempty"`
	KeyFile   string `json:"keyFile,omitempty"`
}

// FileSource is a file that is read in each round, for tests and simulations: values by key.
type FileSource struct {
	Path string `json:"path"`
}

// Load reads a file of feeds, and sets what is not given. Paths in it are relative to its folder.
//
// # Errors
//
// All mistakes, each with its line or its path in the file.
func Load(ctx context.Context, path string) ([]Feed, error) {
	text, err := bounded.File(ctx, path, maxFile)
	if err != nil {
		return nil, err
	}
	var f File
	if err := strictyaml.Decode(text, maxFile, &f); err != nil {
		return nil, errors.New(plain.Lines(fmt.Sprintf("%s: %v", path, err), 4<<10))
	}
	if f.APIVersion != APIVersion || f.Kind != Kind {
		return nil, fmt.Errorf("%s: it is %s of %s: write kind: %s and apiVersion: %s",
			path, plain.Quote(f.Kind, 64), plain.Quote(f.APIVersion, 64), Kind, APIVersion)
	}
	if len(f.Feeds) == 0 || len(f.Feeds) > maxFeeds {
		return nil, fmt.Errorf("%s: feeds: it has %d feeds, between 1 and %d are allowed", path, len(f.Feeds), maxFeeds)
	}
	var errs []error
	for i := range f.Feeds {
		feed := &f.Feeds[i]
		fail := func(field, detail string, args ...any) {
			errs = append(errs, fmt.Errorf("%s: feeds[%d]%s: %s", path, i, field, plain.Line(fmt.Sprintf(detail, args...), 1<<10)))
		}
		if slices.ContainsFunc(f.Feeds[:i], func(o Feed) bool { return o.Name == feed.Name }) {
			fail(".name", "%q is declared twice: give one of the two another name", feed.Name)
		}
		feed.check(fail)
		feed.defaults(filepath.Dir(path))
	}
	return f.Feeds, errors.Join(errs...)
}

// wellKnown returns the unit and the step of a well-known feed.
func wellKnown(name string) (unit string, step int64) {
	switch name {
	case CPU:
		return "milli", 100
	case Memory:
		return "bytes", 256 << 20
	}
	return "", 1
}

func (f *Feed) check(fail func(field, detail string, args ...any)) {
	if errs := validation.IsDNS1123Subdomain(f.Name); len(errs) > 0 {
		fail(".name", "%q is not a DNS subdomain: write a name such as %s", f.Name, CPU)
	}
	switch unit, _ := wellKnown(f.Name); {
	case unit != "" && f.Unit != "" && f.Unit != unit:
		fail(".unit", "%q is not the unit of %s: write %s, or leave it out", f.Unit, f.Name, unit)
	case unit == "" && !regexp.MustCompile(`^[A-Za-z0-9]([-/A-Za-z0-9]{0,30}[A-Za-z0-9])?$`).MatchString(f.Unit):
		fail(".unit", "%q is not a unit: write a word such as watts", f.Unit)
	}
	between := func(field string, d metav1.Duration, least, most time.Duration) {
		if d.Duration != 0 && (d.Duration < least || d.Duration > most) {
			fail(field, "%v is not between %v and %v", d.Duration, least, most)
		}
	}
	between(".interval", f.Interval, minInterval, maxInterval)
	between(".maxAge", f.MaxAge, cmp.Or(f.Interval.Duration, 30*time.Second), 24*time.Hour)
	between(".settle", f.Settle, time.Second, maxInterval)
	if f.Step < 0 {
		fail(".step", "%d is negative", f.Step)
	}
	if f.Key.NodeLabel != "" && len(validation.IsQualifiedName(f.Key.NodeLabel)) > 0 {
		fail(".key.nodeLabel", "%q is not a label key", f.Key.NodeLabel)
	}
	f.Source.check(f, fail)
}

func (s *Source) check(f *Feed, fail func(field, detail string, args ...any)) {
	given := 0
	for _, is := range []bool{s.MetricsAPI != nil, s.Prometheus != nil, s.File != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		fail(".source", "it has %d sources: give metricsAPI, prometheus or file", given)
	}
	if unit, _ := wellKnown(f.Name); s.MetricsAPI != nil && (unit == "" || f.Key.NodeLabel != "") {
		fail(".source.metricsAPI", "it has %s and %s by node, and nothing else: give the feed another source", CPU, Memory)
	}
	if p := s.Prometheus; p != nil {
		u, err := url.Parse(p.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			fail(".source.prometheus.url", "%q is not a URL of http or https", p.URL)
		case u.User != nil:
			fail(".source.prometheus.url", "it has a user: give a tokenFile or a certFile instead")
		}
		if p.Query == "" {
			fail(".source.prometheus.query", "it is missing: write an instant query whose series have the label %s", cmp.Or(p.Label, "node"))
		}
		if (p.CertFile == "") != (p.KeyFile == "") {
			fail(".source.prometheus", "certFile and keyFile need each other")
		}
		if (p.Lag.Duration > 0) == (p.TimeQuery != "") && f.Key.NodeLabel == "" {
			fail(".source.prometheus.lag", "lag or timeQuery is needed, and not both: write how long before the query's time the window of a sample "+
				"begins, as 5m for a rate over [5m]")
		}
	}
	if s.File != nil && s.File.Path == "" {
		fail(".source.file.path", "it is missing")
	}
}

// defaults sets what is not given.
func (f *Feed) defaults(dir string) {
	unit, step := wellKnown(f.Name)
	f.Unit, f.Step = cmp.Or(f.Unit, unit), cmp.Or(f.Step, step)
	f.Interval.Duration = cmp.Or(f.Interval.Duration, 30*time.Second)
	f.MaxAge.Duration = cmp.Or(f.MaxAge.Duration, 6*f.Interval.Duration)
	f.Settle.Duration = cmp.Or(f.Settle.Duration, f.Interval.Duration)
	paths := []*string{}
	if p := f.Source.Prometheus; p != nil {
		p.Label, p.Scale = cmp.Or(p.Label, "node"), cmp.Or(p.Scale, 1)
		paths = append(paths, &p.TokenFile, &p.CAFile, &p.CertFile, &p.KeyFile)
	}
	if f.Source.File != nil {
		paths = append(paths, &f.Source.File.Path)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// ID is what a manifest calls the feed.
func (f *Feed) ID() string { return f.Name + ":" + f.Unit }

// IDs returns what manifests call feeds; never nil.
func IDs(all []Feed) []string {
	out := make([]string, 0, len(all))
	for i := range all {
		out = append(out, all[i].ID())
	}
	return out
}
