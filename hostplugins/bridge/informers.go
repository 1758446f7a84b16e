package bridge

import (
	"maps"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// reindexed are informers that let a plugin add the indexers of pods again that it has added before. Plugins are made anew
// when the configuration changes, and an informer refuses an indexer that it has: DynamicResources could not be made twice.
type reindexed struct {
	informers.SharedInformerFactory
}

// Core implements informers.SharedInformerFactory.
func (f reindexed) Core() core.Interface { return reindexedCore{f.SharedInformerFactory.Core()} }

type reindexedCore struct{ core.Interface }

// V1 implements core.Interface.
func (c reindexedCore) V1() corev1.Interface { return reindexedV1{c.Interface.V1()} }

type reindexedV1 struct{ corev1.Interface }

// Pods implements corev1.Interface.
func (v reindexedV1) Pods() corev1.TypedPodInformer { return reindexedPods{v.Interface.Pods()} }

type reindexedPods struct{ corev1.TypedPodInformer }

// Informer implements corev1.PodInformer.
func (p reindexedPods) Informer() cache.SharedIndexInformer {
	return reindexedInformer{p.TypedPodInformer.Informer()}
}

type reindexedInformer struct{ cache.SharedIndexInformer }

// AddIndexers implements cache.SharedIndexInformer.
func (i reindexedInformer) AddIndexers(indexers cache.Indexers) error {
	fresh, has := maps.Clone(indexers), i.GetIndexer().GetIndexers()
	maps.DeleteFunc(fresh, func(name string, _ cache.IndexFunc) bool { return has[name] != nil })
	if len(fresh) == 0 {
		return nil
	}
	return i.SharedIndexInformer.AddIndexers(fresh)
}
