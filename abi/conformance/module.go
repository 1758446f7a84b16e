package conformance

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// puppetReads is what a guest reads by default: the amounts that the puppet's commands use.
const puppetReads = `{"node": ["name", "allocatable"], "resources": ["example.com/code", "example.com/reason", "example.com/score"],
	"pod": ["name", "priority", "requests"]}`

// built is a plugin ready to be loaded, with as much of its manifest as can be read.
type built struct {
	Plugin
	manifest   *wire.Manifest
	configured bool // exports berth_configure
}

// build makes the module of a plugin: the guest with its manifest.
func (lib *library) build(s *setupDoc) (*built, error) {
	code, ok := lib.guests[s.Guest]
	if s.Hex != "" {
		var err error
		if code, err = hex.DecodeString(s.Hex); err != nil {
			return nil, err
		}
		return &built{Plugin: Plugin{Name: "guest", Module: code}}, nil
	}
	if !ok {
		return nil, fmt.Errorf("there is no guest %q", s.Guest)
	}
	m, err := wire.ReadModule(code)
	if err != nil { // a module of another WebAssembly version, which hosts refuse
		m = &wire.Module{Exports: []wire.Export{{Name: abi.ExportFilter}}}
	}
	text, err := lib.manifestOf(m, s)
	if err != nil {
		return nil, err
	}
	times := 1
	if s.Manifests != nil {
		times = *s.Manifests
	}
	module := slices.Clone(code)
	for range times { // by hand, because wire does not add it twice
		module = append(module, customSection(abi.ManifestSection, text)...)
	}
	out := &built{Plugin: Plugin{
		Name: s.Name, Module: module, Config: s.Config, Namespaces: s.Namespaces, Verify: s.Verify,
	}}
	if out.Name == "" {
		out.Name = "guest"
	}
	_, out.configured = m.Export(abi.ExportConfigure)
	if out.manifest, err = wire.DecodeManifest(text); err == nil {
		out.Grants = out.manifest.Rights()
		if resolved, err := out.manifest.Resolve(s.Config); err == nil { // otherwise the host refuses it
			out.manifest = resolved
		}
	}
	if g := s.Grants; g != nil {
		out.Grants = *g
	}
	return out, nil
}

func customSection(name string, payload []byte) []byte {
	body := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
	body = append(body, payload...)
	return append(binary.AppendUvarint([]byte{0}, uint64(len(body))), body...)
}

// manifestOf makes the manifest of a guest from its exports and imports, with the fields that a
// case gives.
func (lib *library) manifestOf(m *wire.Module, s *setupDoc) ([]byte, error) {
	out := map[string]json.RawMessage{}
	set := func(name string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			panic("BUG: " + err.Error()) // strings and lists of strings
		}
		out[name] = text
	}
	points := map[string]struct{}{}
	for _, p := range abi.Points() {
		if name, _ := wire.ExportOf(p); name != "" {
			if _, ok := m.Export(name); ok {
				points[wire.PointName(p)] = struct{}{}
			}
		}
	}
	var host []string
	for i := range m.Imports {
		if m.Imports[i].Module == abi.HostModule && m.Imports[i].Kind == wire.KindFunc {
			host = append(host, m.Imports[i].Name)
		}
	}
	set("name", "guest")
	set("version", "1.0.0")
	set("abi", "1.0")
	set("points", points)
	if host != nil {
		set("host", host)
	}
	if _, binds := points["bind"]; binds {
		set("directives", map[string]bool{"bind": true})
	}
	if _, configured := m.Export(abi.ExportConfigure); configured {
		set("config", map[string]string{"type": "object"})
	}
	out["reads"] = json.RawMessage(puppetReads)
	if s.Padding > 0 {
		set("config", map[string]string{"description": strings.Repeat("x", s.Padding)})
	}
	for name, value := range s.Manifest {
		var named string
		switch {
		case string(value) == "null":
			delete(out, name)
		case name == "reads" && json.Unmarshal(value, &named) == nil:
			out[name] = lib.objects.Reads[named]
		default:
			out[name] = value
		}
	}
	return json.Marshal(out)
}
