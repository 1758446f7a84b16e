package assembly

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// reader is a plugin that only reads.
type reader struct{ info plugin.Info }

func (r *reader) Info() *plugin.Info { return &r.info }

// TestUnrecorded: what a recording lacks is said once for each plugin, in however many profiles and columns it is read.
func TestUnrecorded(t *testing.T) {
	read := func(column abi.ColumnID) plugin.Read { return plugin.Read{Column: column, Args: []string{"a", "b"}} }
	p := &madePlugin{plugin: &reader{plugin.Info{Reads: []plugin.Read{
		read(abi.PodAnnotations), read(abi.IncomingAnnotations), read(abi.NodeAnnotations),
	}}}}
	built := []*built{{plugins: map[string]*madePlugin{"first": p}}, {plugins: map[string]*madePlugin{"first": p, "second": p}}}
	err := unrecorded(built, &inbox.Settings{Annotations: []string{"b"}})
	want := `plugin first reads metadata.annotations[a] of pods, which the recording does not have: record with --record-reads a
plugin first reads metadata.annotations[a] of nodes, which the recording does not have: record with --record-reads a
plugin second reads metadata.annotations[a] of pods, which the recording does not have: record with --record-reads a
plugin second reads metadata.annotations[a] of nodes, which the recording does not have: record with --record-reads a`
	if err == nil || strings.TrimSpace(err.Error()) != want {
		t.Errorf("%v", err)
	}
}
