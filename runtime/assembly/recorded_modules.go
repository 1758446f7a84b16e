package assembly

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/module"
)

// AddRecorded writes a module of a recording to the folder for them.
func (m *Modules) AddRecorded(e *inbox.Module) error {
	if m.config.Recorded == "" {
		return errors.New("there is no folder for the modules of a recording")
	}
	if module.Digest(e.Bytes) != e.Digest || e.File != recordedFile(e.Digest) {
		return fmt.Errorf("module %s does not have the digest %s", e.File, e.Digest)
	}
	if len(e.Bytes) > wire.MaxModuleSize {
		return fmt.Errorf("module %s has %d bytes, at most %d are allowed", e.File, len(e.Bytes), wire.MaxModuleSize)
	}
	if err := os.WriteFile(filepath.Join(m.config.Recorded, e.File), e.Bytes, 0o600); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.recorded[e.File] = true
	return nil
}

// loadRecorded loads a module that a recording names. Recordings come from anybody: what they name is one of their own modules,
// never a server or a file.
func (m *Modules) loadRecorded(ref module.Reference) (*Module, error) {
	m.mu.Lock()
	known := m.mu.recorded[ref.Path]
	m.mu.Unlock()
	if elsewhere := cmp.Or(ref.URL, ref.Image, ref.ConfigFile); !known || elsewhere != "" {
		return nil, fmt.Errorf("%q is not a module of the recording: somebody has edited it, or it is cut off", cmp.Or(elsewhere, ref.Path))
	}
	ref.Path, ref.Policy = filepath.Join(m.config.Recorded, ref.Path), nil
	return m.Load(ref)
}
