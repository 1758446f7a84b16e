package feeds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/berth-scheduler/berth/internal/bounded"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
	"github.com/berth-scheduler/berth/runtime/quantity"
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
	// Step is to what values are rounded. If not given, it is 5% for feeds of nodes in milli and bytes, and 1 for others.
	Step Step `json:"step,omitzero"`
	// MaxAge is after which time without a sample a value is stale; 0 means six intervals.
	MaxAge metav1.Duration `json:"maxAge,omitzero"`
	// Settle is how long after its assignment a pod may use less than it will; 0 means an interval.
	Settle metav1.Duration `json:"settle,omitzero"`
}

// Step is a number in the feed's unit, or N% of a node's capacity: of its CPU for a feed in milli, of its memory for one in bytes.
type Step struct {
	Units   int64 // of a percentage, for a node of which the capacity is not known
	Percent int64 // 0 if it is none
}

// UnmarshalJSON reads a number, or "N%".
func (s *Step) UnmarshalJSON(text []byte) error {
	var percentage string
	if json.Unmarshal(text, &percentage) != nil {
		if err := json.Unmarshal(text, &s.Units); err != nil {
			return fmt.Errorf("step: %s is neither a whole number nor N%%", plain.Line(string(text), 64))
		}
		return nil
	}
	digits, ok := strings.CutSuffix(percentage, "%")
	n, err := strconv.ParseInt(digits, 10, 8)
	if !ok || err != nil || n < 1 || n > 50 {
		return fmt.Errorf("step: %s is neither a whole number nor a percentage from 1%% to 50%%", plain.Quote(percentage, 64))
	}
	s.Percent = n
	return nil
}

// of returns the step of a node; nil if it is not known.
func (s Step) of(node *v1.Node, unit string) int64 {
	if s.Percent == 0 || node == nil {
		return s.Units
	}
	var capacity int64
	switch unit {
	case unitMilli:
		capacity = quantity.Milli(node.Status.Capacity[v1.ResourceCPU])
	case unitBytes:
		capacity = quantity.Whole(node.Status.Capacity[v1.ResourceMemory])
	}
	if capacity <= 0 {
		return s.Units
	}
	return max(1, capacity/100*s.Percent)
}

// Key says what the keys of values are: the names of nodes, or values of one of their labels.
type Key struct {
	NodeLabel string `json:"nodeLabel,omitempty"`
}

// Source says where numbers come from. One of the fields is given.
type Source struct {
	MetricsAPI *MetricsAPI   `json:"metricsAPI,omitempty"`
	Prometheus *Prometheus   `json:"prometheus,omitempty"`
	Object     *ObjectSource `json:"object,omitempty"`
	File       *FileSource   `json:"file,omitempty"`
	Model      *Model        `json:"model,omitempty"`
}

// Model is a model of load, for simulations: at the time of a sample a node uses a part of what its pods request, of CPU for a feed in
// milli and of memory for one in bytes.
type Model struct {
	// Percent is the part; 100 if not given.
	Percent int64 `json:"percent,omitempty"`
	// Fresh samples before each pod instead of each interval.
	Fresh bool `json:"fresh,omitempty"`
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

// Units of which nodes have a capacity.
const (
	unitMilli = "milli"
	unitBytes = "bytes"
)

// wellKnown returns the unit of a well-known feed; empty for others.
func wellKnown(name string) string {
	switch name {
	case CPU:
		return unitMilli
	case Memory:
		return unitBytes
	}
	return ""
}

// unknown returns the step of a percentage for nodes of which the capacity is not known; 0 for units of which nodes have none.
func unknown(unit string) int64 {
	switch unit {
	case unitMilli:
		return 100
	case unitBytes:
		return 256 << 20
	}
	return 0
}

func (f *Feed) check(fail func(field, detail string, args ...any)) {
	if errs := validation.IsDNS1123Subdomain(f.Name); len(errs) > 0 {
		fail(".name", "%q is not a DNS subdomain: write a name such as %s", f.Name, CPU)
	}
	switch unit := wellKnown(f.Name); {
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
	unit := cmp.Or(f.Unit, wellKnown(f.Name))
	if f.Step.Units < 0 {
		fail(".step", "%d is negative", f.Step.Units)
	}
	if f.Step.Percent > 0 && (f.Key.NodeLabel != "" || unknown(unit) == 0) {
		fail(".step", "a percentage is of a node's capacity, and a feed in %s by %s has none: write a number",
			unit, cmp.Or(f.Key.NodeLabel, "node"))
	}
	if f.Key.NodeLabel != "" && len(validation.IsQualifiedName(f.Key.NodeLabel)) > 0 {
		fail(".key.nodeLabel", "%q is not a label key", f.Key.NodeLabel)
	}
	f.Source.check(f, fail)
}

func (s *Source) check(f *Feed, fail func(field, detail string, args ...any)) {
	given := 0
	for _, is := range []bool{s.MetricsAPI != nil, s.Prometheus != nil, s.Object != nil, s.File != nil, s.Model != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		fail(".source", "it has %d sources: give metricsAPI, prometheus, object, file or, in a simulation, model", given)
	}
	if unit := wellKnown(f.Name); s.MetricsAPI != nil && (unit == "" || f.Key.NodeLabel != "") {
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
	if s.Object != nil {
		s.Object.check(fail)
	}
	if s.File != nil && s.File.Path == "" {
		fail(".source.file.path", "it is missing")
	}
	if m := s.Model; m != nil && (f.Key.NodeLabel != "" || unknown(cmp.Or(f.Unit, wellKnown(f.Name))) == 0) {
		fail(".source.model", "it has what nodes use of CPU, in %s, and of memory, in %s: give the feed another source", unitMilli, unitBytes)
	} else if m != nil && (m.Percent < 0 || m.Percent > 100) {
		fail(".source.model.percent", "%d is not from 1 to 100", m.Percent)
	}
}

// defaults sets what is not given.
func (f *Feed) defaults(dir string) {
	f.Unit = cmp.Or(f.Unit, wellKnown(f.Name))
	if absolute := unknown(f.Unit); absolute > 0 && f.Key.NodeLabel == "" && f.Step.Units == 0 {
		f.Step = Step{Units: absolute, Percent: cmp.Or(f.Step.Percent, 5)}
	}
	f.Step.Units = cmp.Or(f.Step.Units, 1)
	f.Interval.Duration = cmp.Or(f.Interval.Duration, 30*time.Second)
	f.MaxAge.Duration = cmp.Or(f.MaxAge.Duration, 6*f.Interval.Duration)
	f.Settle.Duration = cmp.Or(f.Settle.Duration, f.Interval.Duration)
	paths := []*string{}
	if p := f.Source.Prometheus; p != nil {
		p.Label, p.Scale = cmp.Or(p.Label, "node"), cmp.Or(p.Scale, 1)
		paths = append(paths, &p.TokenFile, &p.CAFile, &p.CertFile, &p.KeyFile)
	}
	if f.Source.Object != nil {
		f.Source.Object.defaults(f.Unit)
	}
	if f.Source.Model != nil {
		f.Source.Model.Percent = cmp.Or(f.Source.Model.Percent, 100)
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
