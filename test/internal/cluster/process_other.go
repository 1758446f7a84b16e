//go:build !linux

package cluster

import "syscall"

// diesWithParent has no way to see to it here.
func diesWithParent() *syscall.SysProcAttr { return nil }
