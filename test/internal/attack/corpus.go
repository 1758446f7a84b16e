// Package attack runs the hostile guests of runtime/internal/hostile against the berth program
// as users run it, and checks the outcome against the bounds that docs/sandbox.md promises.
package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Attack is one or several hostile plugins, as files.
type Attack struct {
	Name  string `json:"name"` // GROUP/NAME
	About string `json:"about"`
	Nodes int    `json:"nodes"` // of the cluster; 0 means 20
	Pods  int    `json:"pods"`  // that are tried; 0 means 12
	// Plugins reports for each plugin whether it has a configuration file.
	Plugins []bool `json:"plugins"`
	// As says how the plugin runs on a cluster of its own, as an attack on the pods of another tenant: tenant, attached or
	// platform; empty for all other attacks.
	As string `json:"as"`
	// Evictions is how many pods of the other tenant may be evicted.
	Evictions int `json:"evictions"`
	// Barred is a pod of namespace evil that must not be placed, if there is one.
	Barred string `json:"barred"`
	// Crowd is how many pods of the tenant Bench has before it measures, and Grants are those of the plugin there.
	Crowd  int             `json:"crowd"`
	Grants map[string]bool `json:"grants"`
	// Workers says that it decides the same with any number of workers.
	Workers bool `json:"workers"`
	// Refused is a text of the refusal, if the plugin has to be refused.
	Refused string `json:"refused"`
	// Feeds reports whether the scheduler has feeds.
	Feeds bool `json:"feeds"`

	dir string
}

// Corpus writes all attacks into dir; root is the folder of Berth's go.mod.
func Corpus(ctx context.Context, root, dir string) ([]Attack, error) {
	write := exec.CommandContext(ctx, "go", "run", "./runtime/internal/hostile/corpus", dir)
	write.Dir = root
	if out, err := write.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", write, err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "attacks.json"))
	if err != nil {
		return nil, err
	}
	var attacks []Attack
	if err := json.Unmarshal(data, &attacks); err != nil {
		return nil, err
	}
	for i := range attacks {
		attacks[i].dir = filepath.Join(dir, filepath.FromSlash(attacks[i].Name))
	}
	return attacks, nil
}

// Modules returns the paths of the attack's modules.
func (a *Attack) Modules() []string {
	var out []string
	for i := range a.Plugins {
		out = append(out, filepath.Join(a.dir, fmt.Sprintf("%d.wasm", i)))
	}
	return out
}

// config returns the path of a plugin's configuration; empty if it has none.
func (a *Attack) config(i int) string {
	if !a.Plugins[i] {
		return ""
	}
	return filepath.Join(a.dir, fmt.Sprintf("%d.json", i))
}

// feeds returns the flag for the attack's feeds, if it has any.
func (a *Attack) feeds() []string {
	if !a.Feeds {
		return nil
	}
	return []string{"--feeds", filepath.Join(a.dir, "feeds.json")}
}
