package debughttp

import "time"

// Plugins is the answer about plugin modules.
type Plugins struct {
	// Standby says that this replica does not lead, so that its plugins are loaded and not
	// called; Leader is the identity of who does, empty if none is known to.
	Standby bool     `json:"standby,omitempty"`
	Leader  string   `json:"leader,omitempty"`
	Plugins []Plugin `json:"plugins"`
	// CompiledIn are plugins that this program has besides those of every berth.
	CompiledIn []CompiledIn `json:"compiledIn,omitempty"`
	// Folder has a line for each module of the followed folder.
	Folder []FolderEntry `json:"folder,omitempty"`
	// Reloads and Refused count changes that were made, and that failed; Error is why the
	// last one did.
	Reloads int    `json:"reloads"`
	Refused int    `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// CompiledIn is a plugin that was compiled in, in a profile.
type CompiledIn struct {
	Profile string   `json:"profile"`
	Name    string   `json:"name"`
	Points  []string `json:"points"`
}

// Plugin is a module that runs in a profile.
type Plugin struct {
	Profile    string     `json:"profile"`
	Name       string     `json:"name"`
	Module     string     `json:"module"` // name and version of the manifest
	Digest     string     `json:"digest"`
	Namespaces []string   `json:"namespaces,omitempty"`
	Breaker    string     `json:"breaker"` // closed, open or half-open
	Opened     int        `json:"opened"`
	RetryAt    *time.Time `json:"retryAt,omitempty"`
	LastFault  string     `json:"lastFault,omitempty"`
	FaultAt    *time.Time `json:"faultAt,omitempty"`
	Calls      int64      `json:"calls"`
	Rows       int64      `json:"rows"`
	Fuel       int64      `json:"fuel"`
	Faults     int64      `json:"faults"`
	// Instances of the module and what the host keeps for them have Memory bytes of the
	// MemoryTotal that limits allow. Starts is the fuel charged for starts after the faults
	// of the last 100 calls, of StartsLimit.
	Instances   int   `json:"instances"`
	Memory      int64 `json:"memory"`
	MemoryTotal int64 `json:"memoryTotal"`
	Starts      int64 `json:"starts"`
	StartsLimit int64 `json:"startsLimit"`
}

// FolderEntry is a module of a folder.
type FolderEntry struct {
	File   string `json:"file"`
	Plugin string `json:"plugin,omitempty"` // that runs; empty for none
	Digest string `json:"digest,omitempty"`
	Error  string `json:"error,omitempty"` // why the file is not what runs
}
