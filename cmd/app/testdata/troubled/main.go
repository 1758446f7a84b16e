// Command troubled is a plugin that does what the first word of a pod's name says, and accepts
// all other pods: gate-… traps in PreEnqueue, trap-… in Filter, and wait-… waits at Permit.
package main

import (
	_ "embed"
	"strings"
	"time"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/filter"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/permit"
	"github.com/berth-scheduler/berth/abi/sdk/go/export/preenqueue"
)

//go:embed manifest.json
var manifest []byte

type troubled struct{ berth.Base }

func is(pod berth.Pod, kind string) bool { return strings.HasPrefix(pod.Name(), kind+"-") }

// PreEnqueue traps for gate-….
func (p *troubled) PreEnqueue(pod berth.Pod) berth.Status {
	if is(pod, "gate") {
		panic("no way in")
	}
	return berth.Success
}

// Filter traps for trap-….
func (p *troubled) Filter(pod berth.Pod, _ berth.Node) berth.Status {
	if is(pod, "trap") {
		panic("the guest gives up")
	}
	return berth.Success
}

// Permit lets wait-… wait.
func (p *troubled) Permit(pod berth.Pod, _ berth.Node) (time.Duration, berth.Status) {
	if is(pod, "wait") {
		return 3 * time.Second, berth.Wait
	}
	return 0, berth.Success
}

var _ = preenqueue.Export(filter.Export(permit.Export(&troubled{Base: berth.Load(manifest)})))

func main() {}
