package scale

import (
	"context"
	"fmt"
	"slices"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// instead puts the native twin in the module's place in all profiles.
func (p *Module) instead(c *assembly.Config) error {
	examples := wasmexamples.All()
	at := slices.IndexFunc(examples, func(e wasmexamples.Example) bool { return e.Name == p.Name })
	if at < 0 {
		return fmt.Errorf("no example is named %s", p.Name)
	}
	manifest, err := wire.DecodeManifest(examples[at].Manifest)
	if err != nil {
		return err
	}
	for i := range c.Scheduler.Profiles {
		delete(c.Scheduler.Profiles[i].Args, p.Name)
	}
	factory := sandbox.NewNativeFactory(func(env *sandbox.Env) sandbox.NativePlugin {
		return berth.NewNative(examples[at].New(), env)
	})
	c.Plugins[p.Name] = func(any) (plugin.Plugin, error) {
		return wasm.New(context.Background(), wasm.Config{Name: p.Name, Config: []byte(p.Config), VerifyEvery: 1024, Kept: !c.Reuse.Off()},
			wasm.Deps{Factory: factory, Manifest: manifest})
	}
	return nil
}
