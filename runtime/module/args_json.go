package module

import (
	"encoding/json"
	"net/url"

	"github.com/berth-scheduler/berth/abi/wire"
)

// argsDocument is the JSON form of WasmPluginArgs.
type argsDocument struct {
	APIVersion    string                  `json:"apiVersion"`
	Kind          string                  `json:"kind"`
	Module        moduleDocument          `json:"module"`
	Config        json.RawMessage         `json:"config,omitempty"`
	Namespaces    []string                `json:"namespaces,omitempty"`
	FailurePolicy any                     `json:"failurePolicy,omitempty"`
	Grants        wire.ManifestDirectives `json:"grants,omitzero"`
	Limits        limitsDocument          `json:"limits,omitzero"`
	Mode          Mode                    `json:"mode,omitempty"`
	Replaces      string                  `json:"replaces,omitempty"`
}

type moduleDocument struct {
	Path   string `json:"path,omitempty"`
	URL    string `json:"url,omitempty"`
	Image  string `json:"image,omitempty"`
	Digest string `json:"digest,omitempty"`
}

type limitsDocument struct {
	FuelPerCall     int64  `json:"fuelPerCall,omitempty"`
	FuelPerRow      int64  `json:"fuelPerRow,omitempty"`
	FuelPerCycle    int64  `json:"fuelPerCycle,omitempty"`
	FuelPerCycleRow int64  `json:"fuelPerCycleRow,omitempty"`
	FuelStart       int64  `json:"fuelStart,omitempty"`
	FuelRestarts    int64  `json:"fuelRestarts,omitempty"`
	Deadline        string `json:"deadline,omitempty"`
	Memory          string `json:"memory,omitempty"`
	MemoryTotal     string `json:"memoryTotal,omitempty"`
	Depth           uint32 `json:"depth,omitempty"`
	TableElements   uint32 `json:"tableElements,omitempty"`
	Functions       int    `json:"functions,omitempty"`
	Globals         int    `json:"globals,omitempty"`
	Locals          int    `json:"locals,omitempty"`
	Nesting         int    `json:"nesting,omitempty"`
	ModuleSize      string `json:"moduleSize,omitempty"`
	ConfigSize      string `json:"configSize,omitempty"`
	StateSize       string `json:"stateSize,omitempty"`
	ReasonSize      string `json:"reasonSize,omitempty"`
	DirectiveSize   string `json:"directiveSize,omitempty"`
	LogSize         string `json:"logSize,omitempty"`
}

// MarshalJSON writes args that DecodeArgs can read. It hides what may be secret in a module's
// URL: the password, and the values of the query, which can be a signature.
func (a *WasmPluginArgs) MarshalJSON() ([]byte, error) {
	d := argsDocument{
		APIVersion: ArgsAPIVersion, Kind: ArgsKind,
		Module:     moduleDocument{Path: a.Module.Path, URL: withoutSecrets(a.Module.URL), Image: a.Module.Image, Digest: a.Module.Digest},
		Namespaces: a.Namespaces, Grants: a.Grants, Limits: writtenLimits(&a.Limits),
		Mode: a.Use.Mode, Replaces: a.Use.Replaces,
	}
	if string(a.Config) != "{}" {
		d.Config = a.Config
	}
	switch {
	case a.FailurePolicy.All != "":
		d.FailurePolicy = a.FailurePolicy.All
	case len(a.FailurePolicy.Points) > 0:
		d.FailurePolicy = a.FailurePolicy.Points
	}
	return json.Marshal(&d)
}

// withoutSecrets returns a URL that may be shown.
func withoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "" // such a URL could not be fetched
	}
	query := u.Query()
	for _, values := range query {
		for i := range values {
			values[i] = "xxxxx" // as URL.Redacted hides passwords
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}

func writtenLimits(l *Limits) limitsDocument {
	size := func(n int) string {
		if n == 0 {
			return ""
		}
		return inBytes(int64(n))
	}
	out := limitsDocument{
		FuelPerCall: l.FuelPerCall, FuelPerRow: l.FuelPerRow, FuelPerCycle: l.FuelPerCycle, FuelPerCycleRow: l.FuelPerCycleRow, FuelStart: l.FuelStart, FuelRestarts: l.FuelRestarts,
		Memory: size(int(l.Memory)), MemoryTotal: size(int(l.MemoryTotal)), Depth: l.Depth, TableElements: l.TableElements,
		Functions: l.Functions, Globals: l.Globals, Locals: l.Locals, Nesting: l.Nesting,
		ModuleSize: size(l.ModuleSize), ConfigSize: size(l.ConfigSize), StateSize: size(l.StateSize),
		ReasonSize: size(l.ReasonSize), DirectiveSize: size(l.DirectiveSize), LogSize: size(l.LogSize),
	}
	if l.Deadline != 0 {
		out.Deadline = l.Deadline.String()
	}
	return out
}

// Args returns the args of a loaded module in the form of a configuration file, with its
// configuration and grants, however the module was named.
func (r *Reference) Args(l *Loaded) *WasmPluginArgs {
	return &WasmPluginArgs{
		Module: ArgsModule{Path: r.Path, URL: r.URL, Image: r.Image, Digest: r.Digest}, Config: l.Config,
		Namespaces: r.Namespaces, FailurePolicy: r.FailurePolicy, Grants: l.Grants, Limits: r.Limits,
		Use: r.Use,
	}
}
