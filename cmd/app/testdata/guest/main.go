// Command guest is a plugin that breaks a rule for pods with certain names, and accepts all
// others: trap-… traps in Filter, tell-… logs and traps, write-… changes the snapshot, clock-… asks
// the clock, memory-… takes 256 MiB, score-… traps in Score, high-… scores out of range.
package main

import (
	_ "embed"
	"errors"
	"strings"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/config"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/configure"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/score"
)

//go:embed manifest.json
var manifest []byte

type unruly struct {
	berth.Base
	kept []byte
}

// Configure refuses a configuration that the schema allows.
func (p *unruly) Configure(data []byte) error {
	c := config.Parse(data)
	c.Only("refuse", "level")
	if err := c.Err(); err != nil || !c.Get("refuse").Bool(false) {
		return err
	}
	return errors.New("not with me")
}

// Filter breaks the rules of filters.
func (p *unruly) Filter(pod berth.Pod, node berth.Node) berth.Status {
	kind, _, _ := strings.Cut(pod.Name(), "-")
	switch kind {
	case "tell":
		p.Log(berth.Info, "one moment")
		fallthrough
	case "trap":
		panic("the guest gives up")
	case "clock":
		if time.Now().Second() < 30 {
			return berth.Unschedulable(p.Reason("the clock says so"))
		}
	case "memory":
		p.kept = append(p.kept, make([]byte, 256<<20)...)
	case "write":
		node.Labels()[0].Value++
	}
	return berth.Success
}

// Score breaks the rules of scores.
func (p *unruly) Score(pod berth.Pod, _ berth.Node) int64 {
	kind, _, _ := strings.Cut(pod.Name(), "-")
	switch kind {
	case "score":
		panic("the guest has no idea")
	case "high":
		return 1000
	}
	return 50
}

var _ = configure.Export(filter.Export(score.Export(&unruly{Base: berth.Load(manifest)})))

func main() {}
