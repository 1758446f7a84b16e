package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/pflag"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/config"
)

func testFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("berth", pflag.ContinueOnError)
	fs.Int64("seed", 1, "")
	fs.Bool("dry-run", false, "")
	fs.String("log-level", "info", "")
	fs.Int("port", 0, "")
	fs.String("leader-port", "10259", "")
	fs.Duration("interval", time.Second, "")
	fs.StringSlice("plugin", []string{"default"}, "")
	fs.BoolP("help", "h", false, "")
	return fs
}

// TestSettings runs testdata/settings.txtar: each file NAME.case has lines "env NAME=value",
// "flag --x=y", "file:" and then the settings file; NAME.want has the resulting flags with
// their sources, or the error.
func TestSettings(t *testing.T) {
	const path = "testdata/settings.txtar"
	in, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: in.Comment}
	for _, f := range in.Files {
		if !strings.HasSuffix(f.Name, ".case") {
			continue
		}
		name := strings.TrimSuffix(f.Name, ".case")
		var got string
		t.Run(name, func(t *testing.T) { got = settle(t, string(f.Data)) })
		out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
	}
	golden.Check(t, path, txtar.Format(out))
}

func settle(t *testing.T, text string) string {
	head, file, hasFile := strings.Cut(text, "file:\n")
	var args []string
	for _, line := range strings.Split(strings.TrimSpace(head), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "env":
			name, value, _ := strings.Cut(rest, "=")
			t.Setenv(name, value)
		case "flag":
			args = append(args, rest)
		}
	}
	path := ""
	if hasFile {
		path = filepath.Join(t.TempDir(), "berth.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fs := testFlags()
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	s, err := config.NewSettings(t.Context(), fs, path)
	if err != nil {
		return strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "") + "\n"
	}
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		fmt.Fprintf(&b, "%s = %s (%s)\n", f.Name, f.Value, s.Source(f.Name))
		if want := s.Source(f.Name) != config.FromDefault; f.Changed != want {
			t.Errorf("%s: Changed = %v, want %v", f.Name, f.Changed, want)
		}
	})
	return b.String()
}

func TestSettingsMissingFile(t *testing.T) {
	if _, err := config.NewSettings(t.Context(), testFlags(), filepath.Join(t.TempDir(), "none.yaml")); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want a not-exist error", err)
	}
}
