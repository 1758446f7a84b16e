//go:build !wasip1

package guest

import berth "github.com/berth-scheduler/berth/abi/sdk/go"

func set(berth.Plugin, string) {}
