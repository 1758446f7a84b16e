package wasm

import "sync"

// FuelBucket is the fuel that the plugins of one tenant may use in a scheduling cycle. A
// tenant's plugins are attached to the same namespaces, in the same profile. The bucket is
// filled for each cycle, never by time, so that it allows the same in a replay. Plugins of a
// tenant are called in the cycles of the tenant's pods only, so tenants do not compete.
type FuelBucket struct {
	mu   sync.Mutex
	key  cycleKey
	left int64
}

// NewFuelBucket returns an empty bucket.
func NewFuelBucket() *FuelBucket { return &FuelBucket{} }

// begin fills the bucket for a cycle, if no other plugin has begun it.
func (b *FuelBucket) begin(key cycleKey, fuel int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.key != key {
		b.key, b.left = key, fuel
	}
}

// take takes out fuel that was used, and returns what is left.
func (b *FuelBucket) take(used int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left -= used
	return b.left
}
