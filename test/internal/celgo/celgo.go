// Package celgo is a plugin that filters nodes by cel-go. It measures what cel-go costs in a guest, for the README of the plugin expression.
package celgo

import (
	_ "embed"

	"github.com/google/cel-go/cel"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
)

// Manifest is the plugin's manifest.
//
//go:embed manifest.json
var Manifest []byte

// Plugin is the plugin.
type Plugin struct {
	berth.Base
	program cel.Program
	reason  berth.Reason
}

// New returns the plugin.
func New() *Plugin {
	b := berth.Load(Manifest)
	return &Plugin{Base: b, reason: b.Reason("node(s) had another name")}
}

// Configure compiles the expression.
func (p *Plugin) Configure(data []byte) error {
	c := config.Parse(data)
	text := c.Need("fits").Text("")
	if err := c.Err(); err != nil {
		return err
	}
	env, err := cel.NewEnv(cel.Variable("name", cel.StringType))
	if err != nil {
		return err
	}
	checked, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return err
	}
	p.program, err = env.Program(checked)
	return err
}

// Filter evaluates the expression for a node.
func (p *Plugin) Filter(_ berth.Pod, node berth.Node) berth.Status {
	if v, _, err := p.program.Eval(map[string]any{"name": node.Name()}); err != nil || v.Value() != true {
		return berth.Unschedulable(p.reason)
	}
	return berth.Success
}
