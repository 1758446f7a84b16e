// Command berth is a Kubernetes scheduler whose decisions are made by plugins. All it does is in package app, which other
// programs call with plugins of their own.
package main

import (
	"os"

	"github.com/berth-scheduler/berth/cmd/app"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(app.Run(app.Command(app.WithVersion(version)))) }
