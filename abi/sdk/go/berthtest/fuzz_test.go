package berthtest_test

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
)

// FuzzScenario: any scenario file passes or fails with a text that names its place, and what is wrong with the file is not
// taken for a trap of the plugin.
func FuzzScenario(f *testing.F) {
	f.Add("config {\"a\": 1}\nnode a labels=rack:r\n\ntry ns/web\n----\na Success 0\n\nconfig []\n----\n" +
		"configuration refused: expected an object, found a list\n")
	f.Add("namespace a labels=x:y\nnode a allocatable=cpu:500,memory:1024 taints=x:y:NoSchedule\n" +
		"pod a/b on=a requests=cpu:100\ndelete a/b\nhint Node Add\n  new a\n")
	f.Add("nominated a/b node=c\npending a/b priority=3\npublished p a/b 00\nschedule a/b without=c/d rejected=e fails\n" +
		"timeout\nqueue_key a/b\npre_enqueue a/b\n")
	f.Fuzz(func(t *testing.T, text string) {
		failed, noted := played(t, text, berthtest.Native(newFrail("")))
		if strings.Contains(failed, "the plugin trapped") {
			t.Errorf("%s", failed)
		}
		if most := 64*len(text) + 64<<10; len(failed) > most || len(noted) > most {
			t.Errorf("a file of %d bytes fails with %d, and notes of %d", len(text), len(failed), len(noted))
		}
	})
}
