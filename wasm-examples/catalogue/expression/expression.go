// Package expression is a plugin that filters and scores nodes by expressions in its configuration, in a subset of CEL.
package expression

import (
	_ "embed"
	"strconv"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression/cel"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// Expression is the plugin.
type Expression struct {
	berth.Base
	view view
	all  []*formula // all expressions

	// The configuration.
	pods     *formula
	filters  []filter
	score    *formula
	from, to float64
	accepts  bool // nodes for which an expression fails
}

// formula is an expression with what is said when it fails.
type formula struct {
	program *cel.Program
	path    string
	failed  map[*cel.Failure]berth.Reason
}

// filter is an expression that must be true, and what is said of a node for which it is not.
type filter struct {
	*formula
	verdict berth.Status
	reject  func(berth.Reason) berth.Status
}

var (
	_ berth.Configurer = (*Expression)(nil)
	_ berth.Preparer   = (*Expression)(nil)
	_ berth.Filterer   = (*Expression)(nil)
	_ berth.Scorer     = (*Expression)(nil)
)

// New returns the plugin.
func New() *Expression {
	p := &Expression{Base: berth.Load(Manifest)}
	p.view.base = p.Base
	return p
}

// Configure compiles the expressions.
func (p *Expression) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("pods", "filters", "score", "scale", "failed", "nodeLabels", "nodeAnnotations", "podAnnotations", "resources", "feeds")
	p.all, p.pods, p.filters, p.score = nil, nil, nil, nil
	variables := p.view.configure(c)
	if text := c.Get("pods"); text.Exists() {
		if p.pods = p.compile(text, "pods", variables, cel.Of(cel.Bool)); p.pods != nil && p.pods.program.OfNode() {
			text.Refuse("the expression is about pods alone, and this one reads the node")
		}
	}
	for i, f := range c.Get("filters").Elements() {
		path := "filters[" + strconv.Itoa(i) + "]"
		compiled := p.compile(f.Need("fits"), path, variables, cel.Of(cel.Bool))
		if compiled == nil {
			break
		}
		// To evict pods changes nothing but what is requested.
		reject := berth.UnschedulableAndUnresolvable
		if compiled.program.Reads(nodeRequested) {
			reject = berth.Unschedulable
		}
		p.filters = append(p.filters, filter{compiled, reject(p.Reason(f.Need("reason").Text(""))), reject})
	}
	if score := c.Get("score"); score.Exists() {
		p.score = p.compile(score, "score", variables, cel.Type{})
	}
	scale := c.Get("scale")
	p.from, p.to = scale.Get("from").Float64(0), scale.Get("to").Float64(100)
	if p.from == p.to {
		scale.Refuse("from and to are equal")
	}
	if scale.Exists() && p.score == nil {
		scale.Refuse("there is no score")
	}
	p.accepts = c.Get("failed").Text("reject") == "accept"
	if len(p.filters) == 0 && p.score == nil {
		c.Refuse("there is nothing to do: write filters or score")
	}
	return c.Err()
}

// compile returns an expression of the configuration; nil if it is wrong.
func (p *Expression) compile(text config.Value, path string, variables []cel.Variable, want cel.Type) *formula {
	program, err := cel.Compile(text.Text(""), variables, want)
	if err != nil {
		text.Refuse(err.Error())
		return nil
	}
	f := &formula{program: program, path: path, failed: map[*cel.Failure]berth.Reason{}}
	for _, failure := range program.Failures() {
		if path == "score" {
			break // it rejects no node
		}
		f.failed[failure] = p.Reason("node(s) for which " + path + " has no value: " + failure.Error())
	}
	p.all = append(p.all, f)
	return f
}

// Prepare reads the pod, which is the same for all nodes of a call.
func (p *Expression) Prepare(pod berth.Pod) berth.Status {
	p.view.pod = pod
	for _, f := range p.all {
		f.program.Reset()
	}
	if p.pods == nil {
		return berth.Success
	}
	concerned, failure := p.pods.program.Eval(&p.view)
	switch {
	case failure != nil && !p.accepts:
		return berth.UnschedulableAndUnresolvable(p.pods.failed[failure])
	case failure != nil || !concerned.Bool():
		return berth.Skip
	}
	return berth.Success
}

// Filter says the reason of the first expression that is not true.
func (p *Expression) Filter(_ berth.Pod, node berth.Node) berth.Status {
	p.view.at(node)
	for i := range p.filters {
		f := &p.filters[i]
		fits, failure := f.program.Eval(&p.view)
		switch {
		case failure != nil && !p.accepts:
			return f.reject(f.failed[failure])
		case failure == nil && !fits.Bool():
			return f.verdict
		}
	}
	return berth.Success
}

// Score is where the value is on the scale, 0 to 100; 0 if there is none.
func (p *Expression) Score(_ berth.Pod, node berth.Node) int64 {
	if p.score == nil {
		return 0
	}
	p.view.at(node)
	v, failure := p.score.program.Eval(&p.view)
	if failure != nil {
		return 0
	}
	value := v.Double()
	if p.score.program.Type().Kind == cel.Int {
		value = float64(v.Int())
	}
	points := 100 * (value - p.from) / (p.to - p.from)
	switch {
	case points >= 100:
		return 100
	case points > 0:
		return int64(points)
	}
	return 0
}
