package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Change is one write to the cluster's state.
type Change struct {
	// Revision is the resource version of the write; revisions of all kinds of objects are in
	// the order of the writes.
	Revision int64
	// Object is what was written, or the last version before it was deleted.
	Object metav1.Object
	// Deleted reports that the object was deleted.
	Deleted bool
}

// storePrefix is where the API server keeps objects in etcd.
const storePrefix = "/registry/"

// Revision is that of the cluster's last write.
func (c *Cluster) Revision(ctx context.Context) (int64, error) {
	answer, err := c.store.Get(ctx, storePrefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("etcd: %w", err)
	}
	return answer.Header.Revision, nil
}

// History calls yield with every write after revision from until now, in order, of the kinds
// that client-go knows. It is read from etcd, so it has no gaps, whatever happened to the API
// server and its watches. It ends early when yield fails.
func (c *Cluster) History(ctx context.Context, from int64, yield func(Change) error) error {
	last, err := c.Revision(ctx)
	if err != nil {
		return err
	}
	if from >= last {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Fragments keep answers below the size limit of a message. The mark is a write that the
	// watch cannot miss, because the last revision may have another prefix.
	if _, err := c.store.Put(ctx, storePrefix+"berth-e2e-mark", strconv.FormatInt(last, 10)); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	decoder := scheme.Codecs.UniversalDeserializer()
	for answer := range c.store.Watch(ctx, storePrefix, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(from+1), clientv3.WithFragment()) {
		if err := answer.Err(); err != nil {
			return fmt.Errorf("etcd: history from %d: %w", from, err)
		}
		for _, e := range answer.Events {
			if e.Kv.ModRevision > last {
				return nil
			}
			change, ok, err := decode(decoder, e)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if err := yield(change); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("etcd: history from %d ended early: %w", from, ctx.Err())
}

// decode decodes a write. Kinds that client-go does not know, such as the API server's own, are
// left out.
func decode(decoder runtime.Decoder, e *clientv3.Event) (Change, bool, error) {
	change := Change{Revision: e.Kv.ModRevision, Deleted: e.Type == clientv3.EventTypeDelete}
	value := e.Kv.Value
	if change.Deleted {
		value = nil
		if e.PrevKv != nil {
			value = e.PrevKv.Value
		}
	}
	object, _, err := decoder.Decode(value, nil, nil)
	if runtime.IsNotRegisteredError(err) || runtime.IsMissingKind(err) || len(value) == 0 || !strings.HasPrefix(string(value), "k8s\x00") {
		return Change{}, false, nil
	}
	if err != nil {
		return Change{}, false, fmt.Errorf("etcd: %s at %d: %w", e.Kv.Key, e.Kv.ModRevision, err)
	}
	var ok bool
	if change.Object, ok = object.(metav1.Object); !ok {
		return Change{}, false, nil
	}
	if change.Deleted {
		change.Object.SetResourceVersion(strconv.FormatInt(e.PrevKv.ModRevision, 10))
	} else {
		change.Object.SetResourceVersion(strconv.FormatInt(e.Kv.ModRevision, 10))
	}
	return change, true, nil
}
