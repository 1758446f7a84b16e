package hostile

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed testdata/parts.inc
var partsFile string

// Guest is a .wat file whose head says how it is used.
type Guest struct {
	// Name is the file's, without .wat; About is the first line.
	Name, About string
	// Points, Reads and Host are JSON of its manifest.
	Points, Reads, Host string
	// Verify is after how many calls columns are checked, Policies what a fault means, by point.
	Verify   int
	Policies map[string]string
	// Source is the text of the module, with its parts in their places.
	Source string
}

// ReadGuest reads a guest. Lines of its head, ";; KEY: VALUE", say how it is used; a line
// ";;+ NAME …" stands for the parts of that name in testdata/parts.inc.
func ReadGuest(path string) (*Guest, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parts, err := readParts(partsFile)
	if err != nil {
		return nil, err
	}
	g := &Guest{
		Name: strings.TrimSuffix(filepath.Base(path), ".wat"), Host: "[]", Policies: map[string]string{},
		Reads: `{"node":["generation"],"pod":["priority"]}`,
	}
	if g.Source, err = withParts(parts, string(data)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		head, isHead := strings.CutPrefix(line, ";; ")
		key, value, _ := strings.Cut(head, ": ")
		switch {
		case !isHead:
			return g, nil
		case i == 0:
			g.About = head
		case key == "points":
			g.Points = value
		case key == "reads":
			g.Reads = value
		case key == "host":
			g.Host = value
		case key == "verify":
			if _, err := fmt.Sscan(value, &g.Verify); err != nil {
				return nil, fmt.Errorf("%s: verify: %w", path, err)
			}
		case key == "policy":
			point, policy, _ := strings.Cut(value, " ")
			g.Policies[point] = policy
		case g.Points == "":
			g.About += " " + head
		}
	}
	return g, nil
}

// readParts returns parts by their names.
func readParts(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, part := range strings.Split(text, ";;= ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		if out[name] != "" {
			return nil, fmt.Errorf("part %q appears twice", name)
		}
		out[name] = body
	}
	return out, nil
}

// withParts puts parts in the places of the lines that name them.
func withParts(parts map[string]string, source string) (string, error) {
	var out strings.Builder
	for _, line := range strings.SplitAfter(source, "\n") {
		names, ok := strings.CutPrefix(strings.TrimSpace(line), ";;+ ")
		if !ok {
			out.WriteString(line)
			continue
		}
		for _, name := range strings.Fields(names) {
			if parts[name] == "" {
				return "", fmt.Errorf("no part %q", name)
			}
			out.WriteString(parts[name])
		}
	}
	return out.String(), nil
}

// guests are the broken guests of runtime/wasm.
func guests(root string) ([]Attack, error) {
	files, err := filepath.Glob(filepath.Join(root, "runtime/wasm/testdata/*.wat"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s is not the folder of go.mod: no guests", root)
	}
	l := &list{}
	for _, file := range files {
		g, err := ReadGuest(file)
		if err != nil {
			return nil, err
		}
		set := fmt.Sprintf(`{"name":"guest","version":"1.0.0","publisher":"stranger","license":"Apache-2.0","description":"an attack","abi":"1.0",`+
			`"points":%s,"reads":%s,"host":%s,"events":[{"resource":"Node","actions":["Add"]}]}`, g.Points, g.Reads, g.Host)
		m, err := assemble(nil, g.Source, set)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		l.add(Attack{Name: "guests/" + g.Name, About: g.About, Plugins: []Plugin{{Module: m}}}, nil)
	}
	return l.all()
}

// programs are those of runtime/wasm/meter, each as the filter of a plugin.
func programs(root string) ([]Attack, error) {
	files, err := filepath.Glob(filepath.Join(root, "runtime/wasm/meter/testdata/hostile/*.wat"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s is not the folder of go.mod: no programs", root)
	}
	l := &list{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		about, source, _ := strings.Cut(strings.TrimPrefix(string(data), ";; "), "\n")
		if source, err = asFilter(source); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		l.add(one("programs/"+strings.TrimSuffix(filepath.Base(file), ".wat"), about, source, filtering()))
	}
	return l.all()
}

// kit are the wrong guests of the conformance kit: those that a host refuses, or that fail before their first point.
func kit(root string) ([]Attack, error) {
	data, err := os.ReadFile(filepath.Join(root, "abi/conformance/testdata/guests.json"))
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not the folder of go.mod", err, root)
	}
	var guests []struct{ Name, About, Hex string }
	if err := json.Unmarshal(data, &guests); err != nil {
		return nil, err
	}
	l := &list{}
	for _, g := range guests {
		group, _, _ := strings.Cut(g.Name, "-")
		if group != "load" && group != "alloc" && group != "configure" {
			continue
		}
		module, err := hex.DecodeString(g.Hex)
		if err != nil {
			return nil, fmt.Errorf("guest %s: %w", g.Name, err)
		}
		points := fields{}
		for function, point := range pointNames() {
			if bytes.Contains(module, text("berth_"+function)) {
				points[point] = fields{}
			}
		}
		host := []string{}
		for _, function := range []string{"log", "state_get", "state_set", "published_get", "pod_object", "node_object"} {
			if bytes.Contains(module, append(text("berth"), text(function)...)) {
				host = append(host, function)
			}
		}
		set := fields{"points": points, "host": host}
		if _, ok := points["bind"]; ok {
			set = set.with("directives", fields{"bind": true})
		}
		l.add(Attack{Name: "kit/" + g.Name, About: g.About, Plugins: []Plugin{{Module: custom(module, "berth.manifest", []byte(manifest(set)))}}}, nil)
	}
	return l.all()
}
