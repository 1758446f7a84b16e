//go:build !linux && !darwin

package testcache

func lock(string) (unlock func(), err error) { return func() {}, nil }
