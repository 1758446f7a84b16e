// Command corpus writes the attacks of package hostile into a folder: for each a folder
// GROUP/NAME with N.wasm and, if it has a configuration, N.json for each plugin, a list of
// them all, attacks.json, and a folder good with nine plugins to run beside them.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-scheduler/berth/runtime/internal/hostile"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// entry is an attack in the list.
type entry struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Nodes int    `json:"nodes"`
	Pods  int    `json:"pods"`
	// Plugins says of each whether it has a configuration.
	Plugins []bool `json:"plugins"`
	// As says how the plugin runs on a cluster of its own, cluster.json.
	As        string `json:"as,omitempty"`
	Evictions int    `json:"evictions,omitempty"`
	Barred    string `json:"barred,omitempty"`
	Workers   bool   `json:"workers,omitempty"`
	Refused   string `json:"refused,omitempty"`
	// Feeds says that the scheduler has feeds, feeds.json.
	Feeds bool `json:"feeds,omitempty"`
	// Crowd and Grants are what it needs in berth run.
	Crowd  int             `json:"crowd,omitempty"`
	Grants map[string]bool `json:"grants,omitempty"`
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: corpus DIR, in the folder of go.mod")
	}
	attacks, err := hostile.Attacks(".")
	if err != nil {
		return err
	}
	var list []entry
	for _, a := range attacks {
		e := entry{
			Name: a.Name, About: a.About, Nodes: a.Nodes, Pods: a.Pods, As: a.As, Evictions: a.Evictions, Barred: a.Barred, Workers: a.Workers,
			Crowd: a.Crowd, Grants: a.Grants, Refused: a.Refused, Feeds: len(a.Feeds) > 0,
		}
		dir := filepath.Join(args[0], filepath.FromSlash(a.Name))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if a.As != "" {
			if err := os.WriteFile(filepath.Join(dir, "cluster.json"), a.Cluster, 0o644); err != nil {
				return err
			}
		}
		if err := writeFeeds(dir, a.Feeds); err != nil {
			return err
		}
		for i, p := range a.Plugins {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.wasm", i)), p.Module, 0o644); err != nil {
				return err
			}
			if p.Config != nil {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), p.Config, 0o644); err != nil {
					return err
				}
			}
			e.Plugins = append(e.Plugins, p.Config != nil)
		}
		list = append(list, e)
	}
	for k := range 9 {
		good, err := hostile.Good(k)
		if err != nil {
			return err
		}
		file := filepath.Join(args[0], "good", fmt.Sprintf("good-%d.wasm", k))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, good, 0o644); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(args[0], "attacks.json"), append(data, '\n'), 0o644)
}

// writeFeeds writes a file that declares feeds, and one with the values of each.
func writeFeeds(dir string, all []hostile.Feed) error {
	type object map[string]any
	var declared []object
	for i, f := range all {
		name := fmt.Sprintf("feed-%d.json", i)
		values, err := json.Marshal(f.Values)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), values, 0o644); err != nil {
			return err
		}
		declared = append(declared, object{"name": f.Name, "unit": f.Unit, "source": object{"file": object{"path": name}}})
	}
	if len(declared) == 0 {
		return nil
	}
	data, err := json.Marshal(object{"apiVersion": "berth.dev/v1alpha1", "kind": "Feeds", "feeds": declared})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "feeds.json"), data, 0o644)
}
