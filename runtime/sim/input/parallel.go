package input

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

// decodeFiles decodes all documents on all processors, and returns the objects in input order.
// Soon after the context has ended, the error is its cause.
func decodeFiles(ctx context.Context, files []source, k *kinds, g *gatherer) ([]object, error) {
	d, err := newDecoder(k, g)
	if err != nil {
		return nil, err
	}
	var chunks []chunk
	for _, f := range files {
		if ctx.Err() != nil {
			break
		}
		before := len(chunks)
		for _, c := range splitFile(f) {
			chunks = append(chunks, d.cut(c)...)
		}
		var r result
		if !d.items(&chunk{file: f.file, line: 1, text: f.data}, len(chunks)-before, &r) {
			chunks = chunks[:before]
			g.add(r.errs...)
		}
	}
	results := make([]result, len(chunks))
	each(ctx, len(chunks), func(i int) { results[i] = d.chunk(ctx, &chunks[i]) })
	if err := unlessStopped(ctx, nil); err != nil {
		return nil, err
	}
	var objs []object
	for i := 0; i < len(results); i++ {
		if whole := chunks[i].whole; whole != nil {
			end := i
			broken := false
			for ; end < len(chunks) && chunks[end].whole == whole; end++ {
				broken = broken || results[end].broken
			}
			if broken { // wrongly cut, or invalid YAML: decode the whole document
				r := d.yaml(ctx, whole)
				g.add(r.errs...)
				g.leaveOut(r.left)
				g.spare = append(g.spare, r.spare...)
				objs = append(objs, r.objects...)
				i = end - 1
				continue
			}
		}
		g.add(results[i].errs...)
		g.leaveOut(results[i].left)
		g.spare = append(g.spare, results[i].spare...)
		objs = append(objs, results[i].objects...)
	}
	return objs, unlessStopped(ctx, nil)
}

// cut returns the items of a list that can be cut, otherwise the document itself. A list with a
// wrong header is not cut, so that the error gets its line.
func (d *decoder) cut(c chunk) []chunk {
	whole := []chunk{c}
	if c.json || c.helm {
		return whole
	}
	head, items, ok := cutList(c)
	if !ok {
		return whole
	}
	top, err := strictyaml.Parse(head)
	if err != nil || top == nil || !isList(top) || child(top, "items") != nil {
		return whole
	}
	var r result
	list, ok := d.header(place{chunk: &chunk{text: head}}, top, &r)
	if !ok {
		return whole
	}
	for i := range items {
		items[i].list = list
	}
	return items
}

func isList(n *yaml.Node) bool {
	kind := scalarAt(n, "kind")
	return len(kind) >= len("List") && kind[len(kind)-len("List"):] == "List"
}

// each calls f for 0 … n−1 on all processors, until the context ends.
func each(ctx context.Context, n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}
