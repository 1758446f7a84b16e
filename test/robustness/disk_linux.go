package main

import (
	"strconv"
	"syscall"
)

// mount gives a folder a file system of diskSize bytes.
func mount(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(diskSize))
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
