package app

import (
	"slices"
	"testing"
	"time"
)

// TestNativeFlags: the native twin is measured for --time, as the module is, whatever
// --compile-time allows.
func TestNativeFlags(t *testing.T) {
	o := pluginBenchOptions{length: batches * time.Millisecond, compileOptions: compileOptions{timeLimit: time.Minute}}
	flags := o.nativeFlags()
	if at := slices.Index(flags, "-benchtime"); at < 0 || flags[at+1] != "1ms" {
		t.Errorf("%q", flags)
	}
}
