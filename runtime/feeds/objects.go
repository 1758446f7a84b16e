package feeds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi/fieldpath"
	"github.com/berth-scheduler/berth/internal/plain"
	"github.com/berth-scheduler/berth/runtime/quantity"
)

// ObjectSource is fields of objects of the API, such as what an agent on each node writes into a custom resource.
type ObjectSource struct {
	// Resource is plural.group/version.
	Resource string `json:"resource"`
	// Namespace and Name are of the only objects that count; empty for all.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Rows is a path to the parts of an object that each have a key and a value; empty if that is the object.
	Rows string `json:"rows,omitempty"`
	// Key is the path of the key in a row, or @key for the key under which the row is. If not given, it is .metadata.name, or @key of rows.
	Key string `json:"key,omitempty"`
	// Value is the path of the number in a row: a number or a quantity.
	Value string `json:"value"`
	// Time is the path in the object of when the value was measured; without it, that is now.
	Time string `json:"time,omitempty"`
	// Lag is how long before that time the window of the sample begins.
	Lag metav1.Duration `json:"lag,omitzero"`
	// Scale is the factor of values: by default 1000 for feeds in milli, and 1 for others.
	Scale float64 `json:"scale,omitempty"`
}

// keyOfRow stands for the key under which a row is.
const keyOfRow = "@key"

// Objects are those that a source reads.
type Objects struct {
	Resource        fieldpath.Resource
	Namespace, Name string
}

// Followed are objects of which only a part is kept.
type Followed interface {
	// Run watches them until the context ends.
	Run(ctx context.Context)
	// Values returns what is kept of each, in no order. With an error it returns none.
	Values(ctx context.Context) ([]any, error)
}

func (o *ObjectSource) objects() Objects {
	r, _ := fieldpath.ParseResource(o.Resource) // checked before
	return Objects{r, o.Namespace, o.Name}
}

func (o *ObjectSource) check(fail func(field, detail string, args ...any)) {
	if _, err := fieldpath.ParseResource(o.Resource); err != nil {
		fail(".source.object.resource", "%v", err)
	}
	path := func(field, text string, many bool) {
		p, err := fieldpath.Parse(text)
		switch {
		case err != nil:
			fail(".source.object."+field, "%v", err)
		case many && !p.Many():
			fail(".source.object."+field, "it leads to one value: write a path with [*], or leave it out")
		case !many && p.Many():
			fail(".source.object."+field, "it leads to several values: write [*] in rows")
		}
	}
	if o.Value == "" {
		fail(".source.object.value", "it is missing: write the path of a number, such as .status.usage.cpu")
	} else {
		path("value", o.Value, false)
	}
	if o.Rows != "" {
		path("rows", o.Rows, true)
	}
	switch {
	case o.Key == keyOfRow && o.Rows == "":
		fail(".source.object.key", "%s is of rows, which are not given", keyOfRow)
	case o.Key != "" && o.Key != keyOfRow:
		path("key", o.Key, false)
	}
	if o.Time != "" {
		path("time", o.Time, false)
	}
	if o.Lag.Duration < 0 || o.Lag.Duration > 24*time.Hour {
		fail(".source.object.lag", "%v is not between 0s and 24h", o.Lag.Duration)
	}
	if !(o.Scale >= 0 && o.Scale <= 1e12) {
		fail(".source.object.scale", "%v is not between 0 and 1e12", o.Scale)
	}
}

func (o *ObjectSource) defaults(unit string) {
	if o.Key == "" {
		if o.Key = ".metadata.name"; o.Rows != "" {
			o.Key = keyOfRow
		}
	}
	if o.Scale == 0 {
		if o.Scale = 1; unit == unitMilli {
			o.Scale = 1000
		}
	}
}

// reader reads a feed out of objects.
type reader struct {
	feed                   *Feed
	rows, key, value, time fieldpath.Path
}

func newReader(f *Feed) *reader {
	parse := func(text string) fieldpath.Path {
		p, _ := fieldpath.Parse(text) // checked before
		return p
	}
	o := f.Source.Object
	r := &reader{feed: f, rows: parse(cmp.Or(o.Rows, ".")), value: parse(o.Value), time: parse(o.Time)}
	if o.Key != keyOfRow {
		r.key = parse(o.Key)
	}
	return r
}

// paths returns where the reader looks for texts and numbers, from the object on.
func (r *reader) paths() (out []fieldpath.Path) {
	within := func(p fieldpath.Path) fieldpath.Path {
		text := ""
		if r.rows.Many() {
			text = r.rows.String()
		}
		if len(p.Steps()) > 0 {
			text += p.String()
		}
		full, _ := fieldpath.Parse(cmp.Or(text, ".")) // too long to be held against a schema
		return full
	}
	all := []fieldpath.Path{within(r.value), r.time}
	if r.feed.Source.Object.Key != keyOfRow {
		all = append(all, within(r.key))
	}
	for _, p := range all {
		if len(p.Steps()) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// number is a value of a feed as an object has it.
type number struct {
	reader *reader
	key    string
	value  int64
	at     time.Time // zero for now
	err    error     // it is none
}

// numbers is what is kept of an object.
type numbers struct {
	created time.Time
	name    string // with the namespace
	all     []number
}

// read returns what a feed says with an object.
func (r *reader) read(object any, out []number) []number {
	r.rows.Each(object, func(key string, row any) bool {
		if r.feed.Source.Object.Key != keyOfRow {
			value, _ := r.key.Value(row)
			key, _ = value.(string)
		}
		value, ok := r.value.Value(row)
		if !ok || key == "" || len(key) > maxKey {
			return true // the field is optional, as all are
		}
		n := number{reader: r, key: key}
		n.value, n.err = r.number(value)
		if r.feed.Source.Object.Time != "" && n.err == nil {
			at, _ := r.time.Value(object)
			text, _ := at.(string)
			if n.at, n.err = time.Parse(time.RFC3339, text); n.err != nil {
				n.err = fmt.Errorf("%s is no time: %s", r.time, plain.Line(fmt.Sprint(at), 64))
			}
		}
		out = append(out, n)
		return len(out) <= maxSeries
	})
	return out
}

// number reads a value in the unit of the feed.
func (r *reader) number(value any) (int64, error) {
	scale := r.feed.Source.Object.Scale
	switch value := value.(type) {
	case int64:
		return whole(float64(float64(value) * scale))
	case float64:
		return whole(float64(value * scale))
	case string:
		q, err := resource.ParseQuantity(plain.Line(value, 64))
		switch {
		case err != nil:
			return 0, fmt.Errorf("%s is no number: %s", r.value, plain.Quote(value, 64))
		case scale == 1:
			return quantity.Whole(q), nil
		case scale == 1000:
			return quantity.Milli(q), nil
		}
		return whole(float64(q.AsApproximateFloat64() * scale))
	case []any:
		return 0, fmt.Errorf("%s is a list, and no number", r.value)
	case map[string]any:
		return 0, fmt.Errorf("%s is an object, and no number", r.value)
	}
	return 0, fmt.Errorf("%s is no number: %v", r.value, value)
}

// objectsSource reads the feeds of one resource and one interval.
type objectsSource struct {
	followed Followed
	feeds    []*Feed
}

// followedBy returns the objects of each resource that feeds read, once for all of them.
func followedBy(config []Feed, follow func(Objects, []fieldpath.Path, func(map[string]any) any) Followed) map[Objects]Followed {
	readers := make(map[Objects][]*reader)
	for i := range config {
		if o := config[i].Source.Object; o != nil {
			readers[o.objects()] = append(readers[o.objects()], newReader(&config[i]))
		}
	}
	out := make(map[Objects]Followed, len(readers))
	for of, all := range readers {
		var paths []fieldpath.Path
		for _, r := range all {
			paths = append(paths, r.paths()...)
		}
		out[of] = follow(of, paths, func(object map[string]any) any { return keep(all, object) })
	}
	return out
}

// keep reads an object for all feeds.
func keep(all []*reader, object map[string]any) *numbers {
	meta, _ := object["metadata"].(map[string]any)
	text := func(field string) string {
		value, _ := meta[field].(string)
		return strings.Clone(value)
	}
	n := &numbers{name: text("namespace") + "/" + text("name")}
	n.created, _ = time.Parse(time.RFC3339, text("creationTimestamp"))
	for _, r := range all {
		n.all = r.read(object, n.all)
	}
	for i := range n.all {
		n.all[i].key = strings.Clone(n.all[i].key) // the object goes
	}
	return n
}

// fetch returns the samples of the feeds. Of several objects with one key the oldest counts.
func (o *objectsSource) fetch(ctx context.Context, now time.Time) (map[string]map[string]Sample, error) {
	values, err := o.followed.Values(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(values, func(a, b any) int {
		x, y := a.(*numbers), b.(*numbers)
		return cmp.Or(x.created.Compare(y.created), strings.Compare(x.name, y.name))
	})
	out := make(map[string]map[string]Sample, len(o.feeds))
	for _, f := range o.feeds {
		out[f.Name] = make(map[string]Sample)
	}
	bad := leftOut{what: "the object of"}
	for _, value := range values {
		object := value.(*numbers)
		for _, n := range object.all {
			samples, mine := out[n.reader.feed.Name]
			if !mine {
				continue
			}
			bad.of++
			_, twice := samples[n.key]
			switch {
			case n.err != nil:
				bad.add(n.key, n.err)
			case twice:
				bad.add(n.key, fmt.Errorf("%s has this key, too, and an older object counts", object.name))
			case len(samples) >= maxSeries:
				return nil, tooMany(bad.of)
			default:
				end := n.at
				if end.IsZero() {
					end = now
				}
				samples[n.key] = Sample{n.value, end.Add(-n.reader.feed.Source.Object.Lag.Duration), end}
			}
		}
	}
	return out, bad.err()
}
