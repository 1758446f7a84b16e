// Command scheduler is Berth with a plugin that was written for kube-scheduler.
package main

import (
	"os"

	"github.com/berth-scheduler/berth/cmd/app"

	"example.com/scheduler/appspread"
)

func main() {
	os.Exit(app.Run(app.Command(app.WithPlugin(appspread.Name, appspread.New))))
}
