package app

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/runtime/config"
)

// TestLoggingFormat: what is logged is text, or JSON for who asks for it.
func TestLoggingFormat(t *testing.T) {
	for _, test := range []struct {
		args string
		json bool
	}{{"", false}, {"--logging-format=text", false}, {"--logging-format=json", true}} {
		var modules moduleOptions
		var o loggingOptions
		f := pflag.NewFlagSet("run", pflag.ContinueOnError)
		modules.flags(f)
		o.flags(f)
		if err := f.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		if err := o.apply(&modules); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		log, err := modules.logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("berth starts", "seed", 7)
		var line struct {
			Level, Msg string
			Seed       int
		}
		err = json.Unmarshal(out.Bytes(), &line)
		if (err == nil) != test.json || err == nil && (line.Msg != "berth starts" || line.Level != "INFO" || line.Seed != 7) {
			t.Errorf("%q: %v: %s", test.args, err, &out)
		}
	}
}

// TestProfilingFlags: a flag wins over the configuration file, which decides otherwise.
func TestProfilingFlags(t *testing.T) {
	for _, test := range []struct {
		args            string
		before, want    bool // enableProfiling
		blocked, blocks bool // enableContentionProfiling
	}{
		{"", true, true, false, false},
		{"", false, false, true, true},
		{"--profiling=false", true, false, true, true},
		{"--profiling --contention-profiling=false", false, true, true, false},
		{"--profiling=false --contention-profiling", true, false, false, true},
	} {
		var o serveOptions
		f := pflag.NewFlagSet("run", pflag.ContinueOnError)
		o.flags(f)
		if err := f.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		s := &config.Scheduler{EnableProfiling: test.before, EnableContentionProfiling: test.blocked}
		if o.apply(s); s.EnableProfiling != test.want || s.EnableContentionProfiling != test.blocks {
			t.Errorf("%q: %v and %v", test.args, s.EnableProfiling, s.EnableContentionProfiling)
		}
	}
}
