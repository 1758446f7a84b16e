package bridge

import (
	"context"
	"fmt"
	"io"

	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// Plugin is a hosted plugin. Its points are those that the hosted plugin implements; at the
// others it returns neutral answers.
// Its scopes are cluster: a hosted plugin may look at any node, and it does not declare what it
// kept in PreFilter.
type Plugin struct {
	bridge *Bridge
	hosted framework.Plugin
	info   plugin.Info
	points []abi.Point

	preEnqueue framework.PreEnqueuePlugin
	queueSort  framework.QueueSortPlugin
	preFilter  framework.PreFilterPlugin
	filter     framework.FilterPlugin
	postFilter framework.PostFilterPlugin
	preScore   framework.PreScorePlugin
	score      framework.ScorePlugin
	reserve    framework.ReservePlugin
	permit     framework.PermitPlugin
	preBind    framework.PreBindPlugin
	bind       framework.BindPlugin
	postBind   framework.PostBindPlugin

	// ctx lives as long as the plugin, for points that get no context.
	ctx context.Context //nolint:containedctx // the framework's points before a cycle want one, and Berth's have none
}

var (
	_ plugin.PreEnqueue          = (*Plugin)(nil)
	_ plugin.QueueSort           = (*Plugin)(nil)
	_ plugin.PreFilter           = (*Plugin)(nil)
	_ plugin.PreFilterExtensions = (*Plugin)(nil)
	_ plugin.Filter              = (*Plugin)(nil)
	_ plugin.PostFilter          = (*Plugin)(nil)
	_ plugin.PreScore            = (*Plugin)(nil)
	_ plugin.Score               = (*Plugin)(nil)
	_ plugin.Normalize           = (*Plugin)(nil)
	_ plugin.Reserve             = (*Plugin)(nil)
	_ plugin.Permit              = (*Plugin)(nil)
	_ plugin.PreBind             = (*Plugin)(nil)
	_ plugin.Bind                = (*Plugin)(nil)
	_ plugin.PostBind            = (*Plugin)(nil)
)

func newPlugin(ctx context.Context, b *Bridge, s Source, hosted framework.Plugin) (*Plugin, error) {
	p := &Plugin{bridge: b, hosted: hosted, ctx: ctx}
	p.info = plugin.Info{Name: s.Name, Enforces: s.Enforces}
	if s.Name != hosted.Name() {
		return nil, fmt.Errorf("the factory of %s returned a plugin named %s; use that name in the Source", s.Name, hosted.Name())
	}
	has := func(ok bool, points ...abi.Point) {
		if ok {
			p.points = append(p.points, points...)
		}
	}
	var ok bool
	p.preEnqueue, ok = hosted.(framework.PreEnqueuePlugin)
	has(ok, abi.PreEnqueue)
	p.queueSort, ok = hosted.(framework.QueueSortPlugin)
	has(ok, abi.QueueSort)
	p.preFilter, ok = hosted.(framework.PreFilterPlugin)
	has(ok, abi.PreFilter)
	p.filter, ok = hosted.(framework.FilterPlugin)
	has(ok, abi.Filter)
	p.postFilter, ok = hosted.(framework.PostFilterPlugin)
	has(ok, abi.PostFilter)
	p.preScore, ok = hosted.(framework.PreScorePlugin)
	has(ok, abi.PreScore)
	p.score, ok = hosted.(framework.ScorePlugin)
	has(ok, abi.Score)
	p.reserve, ok = hosted.(framework.ReservePlugin)
	has(ok, abi.Reserve)
	p.permit, ok = hosted.(framework.PermitPlugin)
	has(ok, abi.Permit)
	p.preBind, ok = hosted.(framework.PreBindPlugin)
	has(ok, abi.PreBind)
	p.bind, ok = hosted.(framework.BindPlugin)
	has(ok, abi.Bind)
	p.postBind, ok = hosted.(framework.PostBindPlugin)
	has(ok, abi.PostBind)

	var err error
	if p.info.Events, err = p.events(ctx); err != nil {
		return nil, fmt.Errorf("events of %s: %w", s.Name, err)
	}
	return p, nil
}

// Info describes the plugin.
func (p *Plugin) Info() *plugin.Info { return &p.info }

// Points returns the points that the hosted plugin implements.
func (p *Plugin) Points() []abi.Point { return p.points }

// Close closes the hosted plugin if it implements io.Closer, as kube-scheduler does.
func (p *Plugin) Close() error {
	if c, ok := p.hosted.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Hosted returns the plugin of the framework.
func (p *Plugin) Hosted() framework.Plugin { return p.hosted }

// begin prepares a call within a scheduling cycle.
func (p *Plugin) begin(c *plugin.Cycle) (context.Context, *cycleState) {
	p.bridge.cluster.follow(c.Snapshot)
	p.bridge.handle.see(c.Nominations)
	return contextOf(c.Context), p.bridge.stateOf(c.State)
}

func contextOf(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
