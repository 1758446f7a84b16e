package input

import (
	"bytes"
	"cmp"
	"context"
	stdjson "encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// object is a decoded object and where it came from.
type object struct {
	runtime.Object
	meta    *metav1.ObjectMeta
	place   place
	unknown []string // paths that the type does not have
	errs    []*Error // what makes it unusable, if such objects are left out
}

// name returns the kind and the name, for messages.
func (o *object) name() string {
	kind, name := strings.ToLower(kindOf(*o)), o.meta.Name
	if o.meta.Namespace != "" {
		name = o.meta.Namespace + "/" + name
	}
	return kind + " " + cmp.Or(name, "without a name")
}

// decoder converts chunks to objects. It has no state, so goroutines share it.
type decoder struct {
	kinds   *kinds
	scheme  *runtime.Scheme
	strict  runtime.Decoder
	usable  bool // leave out objects with mistakes
	lenient bool // ignore unknown fields
	bounds  bounds
	room    *room
}

func newDecoder(k *kinds, g *gatherer) (*decoder, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return &decoder{usable: g.left != nil, lenient: g.lenient, kinds: k, scheme: scheme, bounds: newBounds(), room: &room{},
		strict: json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Strict: true}),
	}, nil
}

// result is the result of one chunk.
type result struct {
	objects []object
	errs    []*Error
	broken  bool     // the text is not YAML
	left    []string // kinds of objects that are left out
	spare   []spare  // what no API server would take, beside other objects
}

func (r *result) fail(p place, n *yaml.Node, path, detail, fix string) {
	line := p.chunk.line
	if n != nil {
		line = p.line(n)
	}
	r.errs = append(r.errs, &Error{File: p.chunk.file, Line: line, Path: path, Detail: detail, Fix: fix})
}

// chunk decodes one document or list item. When the context ends, the result is undefined.
func (d *decoder) chunk(ctx context.Context, c *chunk) (r result) {
	if c.helm {
		r.fail(place{chunk: c}, nil, "", "this text of Helm is not a manifest", "name a file with manifests, such as what helm template writes")
		r.spared("text of Helm")
		return r
	}
	if c.json {
		if r := d.jsonStream(ctx, c); !r.broken || strings.HasSuffix(c.file, ".json") {
			return r
		}
	}
	return d.yaml(ctx, c)
}

func (d *decoder) yaml(ctx context.Context, c *chunk) (r result) {
	at := place{chunk: c}
	top, err := strictyaml.Parse(c.text)
	if err != nil {
		r.broken = true
		r.errs = []*Error{syntaxError(c, err)}
		return r
	}
	if top == nil {
		return r
	}
	if c.whole != nil {
		if top.Kind != yaml.SequenceNode || len(top.Content) != 1 {
			r.broken = true
			return r
		}
		d.document(ctx, at, top.Content[0], nested{c.list, 1}, &r)
		return r
	}
	d.document(ctx, at, top, nested{}, &r)
	return r
}

// nested is the list that something is in, and in how many lists that is.
type nested struct {
	header
	depth int
}

// deepest is how many lists may be in each other; kubectl writes one.
const deepest = 4

// document decodes a document or an item of a list: one object or one list.
func (d *decoder) document(ctx context.Context, at place, top *yaml.Node, in nested, r *result) {
	kind := scalarAt(top, "kind")
	items := child(top, "items")
	if !strings.HasSuffix(kind, "List") || items == nil && !d.kinds.list(kind) {
		d.node(ctx, at, top, in.header, r)
		return
	}
	switch {
	case in.depth == deepest:
		r.fail(at, top, "", tooDeep, flatten)
		return
	case in.depth > 0 && (top.Kind == yaml.AliasNode || items != nil && items.Kind == yaml.AliasNode): // each would multiply the objects
		r.fail(at, top, "", "a list in a list cannot be an alias", "write its items out")
		return
	}
	list, ok := d.header(at, top, r)
	if !ok || items == nil {
		return
	}
	if items.Kind == yaml.AliasNode {
		items = items.Alias
	}
	switch {
	case items.Kind == yaml.SequenceNode:
		if !d.items(at.chunk, len(items.Content), r) {
			return
		}
		for i, item := range items.Content {
			if ctx.Err() != nil {
				return
			}
			p := at
			p.steps = append(slices.Clip(at.steps), "items", strconv.Itoa(i))
			d.document(ctx, p, item, nested{list, in.depth + 1}, r)
		}
	case items.ShortTag() != "!!null":
		r.fail(at, items, "items", "must be a list", "write the objects below it, each after a dash")
	}
}

// What is said of lists in too many lists.
const (
	tooDeep = "the list is in too many others"
	flatten = "write its items in the list that it is in"
)

// header checks the fields of a list other than its items. In a typed list, such as NodeList,
// items without a kind have the list's.
func (d *decoder) header(at place, top *yaml.Node, r *result) (header, bool) {
	if top.Kind != yaml.MappingNode {
		r.fail(at, top, "", "a document must be an object", "write apiVersion, kind and metadata")
		return header{}, false
	}
	var twice *strictyaml.NodeError
	if err := strictyaml.Distinct(top.Content); errors.As(err, &twice) {
		r.fail(at, twice.Node, twice.Node.Value, twice.Detail, twice.Fix)
		return header{}, false
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i]
		switch key.Value {
		case "apiVersion", "kind", "metadata", "items":
		default:
			r.fail(at, key, key.Value, "a list has no such field", "remove it, or check its spelling and indentation")
			return header{}, false
		}
	}
	return listHeader(scalarAt(top, "apiVersion"), scalarAt(top, "kind")), true
}

// listHeader is empty for a v1 List, whose items have their own kinds.
func listHeader(apiVersion, kind string) header {
	if kind == "List" {
		return header{}
	}
	return header{apiVersion, strings.TrimSuffix(kind, "List")}
}

// node decodes one object from its tree.
func (d *decoder) node(ctx context.Context, at place, n *yaml.Node, list header, r *result) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.fail(at, n, "", "a document must be an object", "write apiVersion, kind and metadata")
		if jsonPatch(n) {
			r.spared("JSON patch")
		}
		return
	}
	gv, err := schema.ParseGroupVersion(cmp.Or(scalarAt(n, "apiVersion"), list.apiVersion))
	of := child(n, "kind")
	readable := of == nil || of.ShortTag() == "!!str"
	if kind := cmp.Or(scalarAt(n, "kind"), list.kind); err == nil && readable && d.leaves(gv.WithKind(kind)) || passedOver(at.chunk.file, n) {
		r.left = append(r.left, cmp.Or(kind, "Kustomization"))
		return
	}
	text, err := strictyaml.JSON(n)
	if err != nil {
		var bad *strictyaml.NodeError
		if errors.As(err, &bad) {
			r.fail(at, bad.Node, pathOf(n, bad.Node), bad.Detail, bad.Fix)
			return
		}
		r.fail(at, n, "", err.Error(), "")
		return
	}
	at.first = at.line(n)
	d.object(ctx, at, text, n, list, r)
}

// object decodes one object from JSON. n is its tree if it exists already.
func (d *decoder) object(ctx context.Context, at place, text []byte, n *yaml.Node, list header, r *result) {
	if ok, first := d.room.forObject(ctx, text, d.scheme); !ok {
		r.noRoom(at.chunk, first)
		return
	}
	gv, _ := schema.ParseGroupVersion(list.apiVersion) // an invalid one is refused with the kind
	given := gv.WithKind(list.kind)
	obj, gvk, err := d.strict.Decode(text, &given, nil)
	if gvk == nil {
		r.fail(at, n, "", "apiVersion and kind cannot be read: "+cutError(err), "write them as text")
		r.last().Line = at.first
		return
	}
	if d.leaves(*gvk) {
		r.left = append(r.left, gvk.Kind)
		return
	}
	if bad := d.kinds.refuse(*gvk); bad != nil {
		if bad.File, bad.Line = at.chunk.file, at.first; len(r.errs)+len(r.spare) < MaxErrors { // more are only counted
			bad.Line = at.lineOf(n, bad.Path)
		}
		r.errs = append(r.errs, bad)
		switch known := d.kinds.knows(gvk.Kind); {
		case *gvk == (schema.GroupVersionKind{}):
			r.spared("document without a kind")
		case known && former(gvk.GroupVersion()):
			r.spared(gvk.Kind + " of " + gvk.GroupVersion().String())
		}
		return
	}
	unknown, only := unknownFields(err, d.lenient)
	if err != nil && (!only || !d.lenient && (len(unknown) >= maxStrict || bytes.Contains(text, []byte(`"status.`)))) {
		if errs := d.explain(at, n, *gvk, err, only); len(errs) > 0 {
			d.refused(object{Object: named(text, *gvk), place: at}, errs, r)
			return
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	o := object{Object: obj, meta: metaOf(obj), place: at, unknown: unknown}
	if d.kinds.clean != nil {
		d.kinds.clean(o)
	}
	if hook := laterHook(o.meta); hook != "" {
		r.left = append(r.left, gvk.Kind+" of Helm's hook "+hook)
		return
	}
	if o.meta.Namespace == "" && namespaced(gvk.Kind) {
		o.meta.Namespace = at.chunk.namespace
	}
	if o.meta.Name == "" && o.meta.GenerateName != "" {
		o.meta.Name = o.meta.GenerateName + strconv.Itoa(at.first)
	}
	if errs := append(prepare(o, n), d.bounds.check(at, n, *gvk, text)...); len(errs) > 0 {
		d.refused(o, errs, r)
		return
	}
	r.objects = append(r.objects, o)
}

// refused records an object with mistakes.
func (d *decoder) refused(o object, errs []*Error, r *result) {
	if !d.usable {
		r.errs = append(r.errs, errs...)
		return
	}
	o.meta, o.errs = metaOf(o.Object), errs
	r.objects = append(r.objects, o)
}

// named returns an object with the name that is in a text which does not fit its type.
func named(text []byte, gvk schema.GroupVersionKind) runtime.Object {
	var header struct {
		Metadata struct {
			Name      any `json:"name"`
			Namespace any `json:"namespace"`
		} `json:"metadata"`
	}
	_ = stdjson.Unmarshal(text, &header) // without a name if that is what does not fit
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(gvk)
	o.Name, _ = header.Metadata.Name.(string)
	o.Namespace, _ = header.Metadata.Namespace.(string)
	return o
}

// passedOver reports whether an object without a kind is the configuration of kustomize, which has none in some folders.
func passedOver(file string, n *yaml.Node) bool {
	name := filepath.Base(file)
	return (name == "kustomization.yaml" || name == "kustomization.yml") && scalarAt(n, "kind") == ""
}

func (r *result) last() *Error { return r.errs[len(r.errs)-1] }

// explain finds every place in the tree that does not fit the type. If it finds none, it
// returns the decoder's error, at the object's first line, unless that was only about unknown
// fields under status.
func (d *decoder) explain(at place, n *yaml.Node, gvk schema.GroupVersionKind, err error, onlyStatus bool) []*Error {
	if n == nil {
		n = at.node()
	}
	var out []*Error
	var bad *strictyaml.NodeError
	if n != nil {
		if _, e := strictyaml.JSON(n); errors.As(e, &bad) { // duplicate keys in JSON
			return []*Error{{File: at.chunk.file, Line: at.line(bad.Node), Path: pathOf(n, bad.Node), Detail: bad.Detail, Fix: bad.Fix}}
		}
	}
	if obj, e := d.scheme.New(gvk); e == nil && n != nil {
		for _, m := range strictyaml.Mismatches(n, reflect.TypeOf(obj), underStatus) {
			out = append(out, &Error{File: at.chunk.file, Line: at.line(m.Node), Path: strictyaml.PathOf(m.Path), Detail: m.Detail, Fix: m.Fix})
		}
	}
	if len(out) == 0 && (!onlyStatus || n == nil) {
		out = []*Error{{File: at.chunk.file, Line: at.first, Detail: cutError(err), Fix: "fix the object"}}
	}
	return out
}

// cutError returns the decoder's text without its prefixes.
func cutError(err error) string {
	s := err.Error()
	for _, prefix := range []string{"couldn't get version/kind; ", "strict decoding error: ", "json parse error: ", "json: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}
