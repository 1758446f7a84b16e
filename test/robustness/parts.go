package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-scheduler/berth/test/internal/cluster"
)

// diskSize is the size in bytes of the disk that is filled.
const diskSize = 256 << 20

// parts are what Berth has and kube-scheduler has not: a folder with a plugin, and a disk with recordings and the module cache.
type parts struct {
	disk, plugins string
	module        []byte
	// small reports that the disk is a file system of its own, which can be filled.
	small bool
}

// newParts mounts the disk, and builds the plugin.
func newParts(ctx context.Context, c *cluster.Cluster) (*parts, error) {
	p := &parts{disk: filepath.Join(c.Dir(), "disk"), plugins: filepath.Join(c.Dir(), "plugins")}
	for _, dir := range []string{p.disk, p.plugins} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := mount(p.disk); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "no disk is full: a file system cannot be mounted:", err)
	} else {
		p.small = true
	}
	file, source := filepath.Join(c.Dir(), "moody.wasm"), filepath.Join("e2e", "testdata", "moody")
	build := exec.CommandContext(ctx, c.Binaries().Berth, "plugin", "build", filepath.Join(source, "guest"),
		"--manifest", filepath.Join(source, "manifest.json"), "-o", file)
	out, err := build.CombinedOutput()
	if err == nil {
		p.module, err = os.ReadFile(file)
	}
	if err == nil {
		err = errors.Join(p.put("moody.yaml", []byte(good)), p.put("moody.wasm", p.module))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("plugin: %w\n%s", err, out), p.remove())
	}
	return p, nil
}

// Settings of the plugin: good passes all nodes, and bad crashes in each call.
const good, bad = "config: {}\n", "config: {faultEvery: 1}\n"

// put replaces a file of the plugin folder at once.
func (p *parts) put(name string, data []byte) error {
	next := filepath.Join(p.plugins, "."+name)
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(p.plugins, name))
}

// flags are those of a replica that serves at a port.
func (p *parts) flags(port int) []string {
	own := filepath.Join(p.disk, strconv.Itoa(port))
	return []string{
		"--plugin-dir=" + p.plugins, "--record=" + filepath.Join(own, "recordings"), "--record-size=64Mi",
		"--module-cache=" + filepath.Join(own, "modules"),
	}
}

func (p *parts) remove() error {
	if p.small {
		return unmount(p.disk)
	}
	return nil
}

// fill takes all the room of the disk, and returns what gives it back.
func (p *parts) fill() (free func() error, err error) {
	name := filepath.Join(p.disk, "filler")
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is never read
	free = func() error { return os.Remove(name) }
	for block := make([]byte, 1<<20); len(block) > 0; block = block[:len(block)/2] { // the last bytes too
		for err = nil; err == nil; {
			_, err = file.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return nil, errors.Join(err, free())
		}
	}
	return free, nil
}

// ofParts are the faults of a plugin and a disk, without a begin for a scheduler that has neither.
func (r *run) ofParts(leader func(context.Context) *cluster.Process) []fault {
	p := r.parts
	replaced := func(name string, by func() []byte, then func() []byte) func(context.Context) (func() error, error) {
		if p == nil {
			return nil
		}
		return func(context.Context) (func() error, error) {
			return func() error { return p.put(name, then()) }, p.put(name, by())
		}
	}
	is := func(data []byte) func() []byte { return func() []byte { return data } }
	module := func() []byte { return p.module }
	var full func(context.Context) (func() error, error)
	if p != nil && p.small {
		full = func(ctx context.Context) (func() error, error) {
			free, err := p.fill()
			if err != nil {
				return nil, err
			}
			stop(leader(ctx))
			return free, nil
		}
	}
	return []fault{
		{"plugin's module is garbage for 10 s", 10 * time.Second, replaced("moody.wasm", is([]byte("garbage")), module)},
		{"plugin crashes in each call for 10 s", 10 * time.Second, replaced("moody.yaml", is([]byte(bad)), is([]byte(good)))},
		{"disk full for 10 s, leader stopped", 10 * time.Second, full},
	}
}
