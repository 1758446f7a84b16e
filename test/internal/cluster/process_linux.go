package cluster

import "syscall"

// diesWithParent makes the kernel kill a child when the test is killed.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
