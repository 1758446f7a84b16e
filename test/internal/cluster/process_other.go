//go:build !linux

package cluster

import "syscall"

// diesWithParent is not supported here.
func diesWithParent() *syscall.SysProcAttr { return nil }
