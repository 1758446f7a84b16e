package debughttp

import "time"

// Plugins is the answer to a question about plugins.
type Plugins struct {
	// Standby says that this replica is not the leader, so its plugins are loaded but not
	// called. Leader is the leader's identity, empty if unknown.
	Standby bool     `json:"standby,omitempty"`
	Leader  string   `json:"leader,omitempty"`
	Plugins []Plugin `json:"plugins"`
	// CompiledIn are plugins of this program that the standard berth does not have.
	CompiledIn []CompiledIn `json:"compiledIn,omitempty"`
	// Rollouts has an entry for each plugin of the API in mode Canary.
	Rollouts []Rollout `json:"rollouts,omitempty"`
	// Folder has an entry for each module of the followed folder.
	Folder []FolderEntry `json:"folder,omitempty"`
	// Feeds has an entry for each feed that is declared.
	Feeds []Feed `json:"feeds,omitempty"`
	// Reloads counts reloads that changed something, Refused those that failed; Error is the
	// error of the last one.
	Reloads int    `json:"reloads"`
	Refused int    `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// Feed is how a feed is.
type Feed struct {
	// Feed is its name with its unit.
	Feed string `json:"feed"`
	// Keys is how many nodes or values of the label have a value, and Stale how many of these are stale.
	Keys  int `json:"keys"`
	Stale int `json:"stale"`
	// Error is that of the last round; empty if it had none.
	Error string `json:"error,omitempty"`
}

// Rollout is how far a new version of a plugin has taken over.
type Rollout struct {
	Plugin string `json:"plugin"`
	// Step is the number of the step of Steps, from 1; 0 if no new version is taking over.
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Failed is the bound that the version broke that the object names; empty if it did not.
	Failed   string           `json:"failed,omitempty"`
	Versions []RolloutVersion `json:"versions"`
}

// RolloutVersion is a version that decides for pods.
type RolloutVersion struct {
	Version string `json:"version"` // stable or canary
	Digest  string `json:"digest"`
	// Share is the part of the pods that it decides for, from 0 to 1; Attempts are those of the step while this
	// scheduler has led.
	Share    float64 `json:"share"`
	Attempts int64   `json:"attempts"`
}

// CompiledIn is a compiled-in plugin in a profile.
type CompiledIn struct {
	Profile string   `json:"profile"`
	Name    string   `json:"name"`
	Points  []string `json:"points"`
}

// Plugin is a module that runs in a profile.
type Plugin struct {
	Profile    string   `json:"profile"`
	Name       string   `json:"name"`
	Module     string   `json:"module"` // name and version in the manifest
	Digest     string   `json:"digest"`
	Image      string   `json:"image,omitempty"` // digest of the image's manifest
	Signers    []string `json:"signers,omitempty"`
	Yanked     string   `json:"yanked,omitempty"`  // why, by the index; empty if it is not
	NotKept    string   `json:"notKept,omitempty"` // why answers are not kept for equivalent pods
	Shadow     bool     `json:"shadow,omitempty"`  // it decides nothing
	Namespaces []string `json:"namespaces,omitempty"`
	Breaker    string   `json:"breaker"` // closed, open or half-open
	// NotCalledFor are the namespaces with whose pods it failed, so that it is not called for them; Breaker is
	// closed if it is for others.
	NotCalledFor []string   `json:"notCalledFor,omitempty"`
	Opened       int        `json:"opened"`
	RetryAt      *time.Time `json:"retryAt,omitempty"`
	LastFault    string     `json:"lastFault,omitempty"`
	FaultAt      *time.Time `json:"faultAt,omitempty"`
	Calls        int64      `json:"calls"`
	Rows         int64      `json:"rows"`
	Fuel         int64      `json:"fuel"`
	Faults       int64      `json:"faults"` // without calls that an open breaker prevented
	// Memory is what the module's instances and the host's data for them take, in bytes;
	// MemoryTotal is its limit. Starts is the fuel charged for restarts after the faults of the
	// last 100 calls; StartsLimit is its limit.
	Instances   int   `json:"instances"`
	Memory      int64 `json:"memory"`
	MemoryTotal int64 `json:"memoryTotal"`
	Starts      int64 `json:"starts"`
	StartsLimit int64 `json:"startsLimit"`
}

// FolderEntry is a module in a folder.
type FolderEntry struct {
	File   string `json:"file"`
	Plugin string `json:"plugin,omitempty"` // the one that runs; empty for none
	Digest string `json:"digest,omitempty"`
	Error  string `json:"error,omitempty"` // why the file's current contents do not run
}
