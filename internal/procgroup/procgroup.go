// Package procgroup ends a command together with what it started, as compilers start others.
package procgroup

import (
	"os/exec"
	"time"
)

// Set changes a command of exec.CommandContext, before it starts: at the end of its context all processes of its group are killed, on
// systems that have such groups. Elsewhere the command alone is. It returns the command.
func Set(cmd *exec.Cmd) *exec.Cmd {
	cmd.WaitDelay = time.Second // for what left the group, and holds the command's output open
	set(cmd)
	return cmd
}
