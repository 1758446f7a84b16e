package cluster

import "syscall"

// diesWithParent has the kernel end a child when the test is killed.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
