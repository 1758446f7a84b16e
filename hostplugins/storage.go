package hostplugins

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins/nodevolumelimits"
	"github.com/berth-scheduler/berth/hostplugins/volumebinding"
	"github.com/berth-scheduler/berth/hostplugins/volumerestrictions"
	"github.com/berth-scheduler/berth/hostplugins/volumezone"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

// Storage is the storage objects of the cluster, and the means to bind volumes.
type Storage struct {
	Objects objects.Storage
	Writer  objects.VolumeWriter
	Waiter  objects.StorageWaiter
	Exists  objects.Existence
}

// orEmpty replaces the zero value by the storage of a cluster without storage objects.
func (s Storage) orEmpty() Storage {
	if s != (Storage{}) {
		return s
	}
	return Storage{Objects: storage.New().Objects(), Writer: none{}, Waiter: none{}, Exists: none{}}
}

func (s Storage) restrictions() *volumerestrictions.VolumeRestrictions {
	return volumerestrictions.New(volumerestrictions.Deps{Claims: s.Objects.Claims})
}

func (s Storage) zone() *volumezone.VolumeZone {
	return volumezone.New(volumezone.Deps{Claims: s.Objects.Claims, Volumes: s.Objects.Volumes, Classes: s.Objects.Classes})
}

func (s Storage) limits(before37 bool) *nodevolumelimits.NodeVolumeLimits {
	return nodevolumelimits.New(nodevolumelimits.Deps{
		Claims: s.Objects.Claims, Volumes: s.Objects.Volumes, Classes: s.Objects.Classes,
		CSINodes: s.Objects.CSINodes, Drivers: s.Objects.CSIDrivers, Attached: s.Objects.Attached, Changes: s.Objects.Changes,
		MayLackDrivers: before37,
	})
}

// binding returns a factory of plugins that share a ledger.
func (s Storage) binding(before37 bool) plugin.Factory {
	deps := volumebinding.Deps{
		Storage: s.Objects, Ledger: volumebinding.NewLedger(s.Objects), Writer: s.Writer, Waiter: s.Waiter, Exists: s.Exists,
		OnlyShaped: before37,
	}
	return func(args any) (plugin.Plugin, error) {
		return withArgs(args, func(args *configv1.VolumeBindingArgs) (*volumebinding.VolumeBinding, error) {
			return volumebinding.New(args, deps)
		})
	}
}

// none implements what is never called in an empty cluster.
type none struct{}

func (none) fail() error {
	return errors.New("BUG: a cluster without storage was asked to bind a volume")
}

func (n none) UpdateVolume(context.Context, *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	return nil, n.fail()
}

func (n none) UpdateClaim(context.Context, *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	return nil, n.fail()
}

func (n none) Await(context.Context, time.Duration, func() (bool, error)) error { return n.fail() }

func (none) NodeObject(string) *v1.Node { return nil }

func (none) HasPod(string, string) bool { return false }
