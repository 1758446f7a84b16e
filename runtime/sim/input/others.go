package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// LoadOthers returns the objects of files, which LoadCluster has read, that are of kinds for which keep is true, such as custom
// resources. What cannot be decoded is left out: LoadCluster has said so.
//
// # Errors
//
// The context has ended.
func LoadOthers(ctx context.Context, paths []string, keep func(schema.GroupVersionKind) bool) (out []map[string]any, err error) {
	g := gatherer{left: &gatherer{}}
	for _, f := range readFiles(ctx, paths, &g) {
		d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(f.data), 4096)
		for ctx.Err() == nil {
			var document map[string]any
			err := d.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			var syntax yaml.YAMLSyntaxError
			if err != nil && !errors.As(err, &syntax) {
				break // nothing can be read after it
			}
			out = others(document, header{}, 0, keep, out)
		}
	}
	return out, unlessStopped(ctx, nil)
}

// others adds an object, or those of a list in a few lists.
func others(object map[string]any, in header, depth int, keep func(schema.GroupVersionKind) bool, out []map[string]any) []map[string]any {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if items, is := object["items"].([]any); is && depth < deepest {
		of := listHeader(apiVersion, kind)
		for _, item := range items {
			if item, ok := item.(map[string]any); ok {
				out = others(item, of, depth+1, keep, out)
			}
		}
		return out
	}
	gv, err := schema.ParseGroupVersion(cmp.Or(apiVersion, in.apiVersion))
	if err != nil {
		return out
	}
	if kind = cmp.Or(kind, in.kind); kind == "" {
		return out
	}
	if keep(gv.WithKind(kind)) {
		object["apiVersion"], object["kind"] = gv.String(), kind
		out = append(out, object)
	}
	return out
}

// Use takes objects of a kind off those that were left out, because something reads them.
func (o *Objects) Use(kind string) {
	if o.kinds[kind]--; o.kinds[kind] <= 0 {
		delete(o.kinds, kind)
	}
	o.LeftOut = countKinds(o.kinds)
}
