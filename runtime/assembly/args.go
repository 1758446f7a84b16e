package assembly

import (
	"encoding/json"

	"github.com/berth-scheduler/berth/runtime/config"
)

var _ config.ArgsWriter = (*Module)(nil)

// ArgsJSON implements config.ArgsWriter. It returns the plugin's WasmPluginArgs, whether a
// configuration file or a command line named the module.
func (m *Module) ArgsJSON() ([]byte, error) { return json.Marshal(m.Reference.Args(m.Loaded)) }
