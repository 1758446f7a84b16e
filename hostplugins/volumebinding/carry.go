package volumebinding

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// carried is a reservation in a checkpoint, or promises that are left of earlier ones. Promised objects are told as
// changes of the stored ones, which the checkpoint has.
type carried struct {
	Volumes []carriedVolume `json:"volumes,omitempty"`
	Claims  []carriedClaim  `json:"claims,omitempty"`
}

type carriedVolume struct {
	Name string `json:"name"`
	// Version is that of the stored object. A promise for another version is over.
	Version      string              `json:"version"`
	Claim        *v1.ObjectReference `json:"claim,omitempty"`
	ByController bool                `json:"byController,omitempty"`
	// Promises is how many pods have this promise.
	Promises int  `json:"promises,omitempty"`
	Written  bool `json:"written,omitempty"`
}

type carriedClaim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Node      string `json:"node"`
	Promises  int    `json:"promises,omitempty"`
	Written   bool   `json:"written,omitempty"`
}

func carryVolume(pv *v1.PersistentVolume, promises int) carriedVolume {
	return carriedVolume{
		Name: pv.Name, Version: pv.ResourceVersion, Claim: pv.Spec.ClaimRef, Promises: promises,
		ByController: metav1.HasAnnotation(pv.ObjectMeta, volume.AnnBoundByController),
	}
}

func carryClaim(c *v1.PersistentVolumeClaim, promises int) carriedClaim {
	return carriedClaim{Namespace: c.Namespace, Name: c.Name, Version: c.ResourceVersion, Node: c.Annotations[volume.AnnSelectedNode], Promises: promises}
}

// CarriedFor implements plugin.Carrier.
func (b *VolumeBinding) CarriedFor(pl *plugin.Placement) json.RawMessage {
	if pl == nil {
		return encode(b.deps.Ledger.carried())
	}
	r, ok := pl.State.Read(Name, reserveKey).(*reservation)
	if !ok {
		return nil
	}
	return encode(r.carried())
}

// ChangedFor implements plugin.Carrier.
func (b *VolumeBinding) ChangedFor(pl *plugin.Placement) json.RawMessage {
	r, ok := pl.State.Read(Name, reserveKey).(*reservation)
	if !ok {
		return nil
	}
	c, changed := r.carried(), false
	for i := range r.bindings {
		c.Volumes[i].Written = r.bindings[i].written != nil
		changed = changed || c.Volumes[i].Written
	}
	for i := range r.provisions {
		c.Claims[i].Written = r.provisions[i].written != nil
		changed = changed || c.Claims[i].Written
	}
	if !changed {
		return nil
	}
	return encode(c)
}

func encode(c carried) json.RawMessage {
	if len(c.Volumes)+len(c.Claims) == 0 {
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic("BUG: a reservation cannot be encoded: " + err.Error())
	}
	return data
}

// carried reads what does not change while the binding cycle runs.
func (r *reservation) carried() (c carried) {
	for i := range r.bindings {
		v, promises := &r.bindings[i], 0
		if v.promised {
			promises = 1
		}
		c.Volumes = append(c.Volumes, carryVolume(v.pv, promises))
	}
	for i := range r.provisions {
		c.Claims = append(c.Claims, carryClaim(r.provisions[i].claim, 1))
	}
	return c
}

// carried returns all promises that hold.
func (l *Ledger) carried() (c carried) {
	for _, name := range slices.Sorted(maps.Keys(l.promisedVolumes)) {
		list := l.promisedVolumes[name]
		if pv := list[len(list)-1]; l.volume(name) == pv {
			c.Volumes = append(c.Volumes, carryVolume(pv, len(list)))
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(l.promisedClaims), func(a, b claims.Key) int { return strings.Compare(a.String(), b.String()) }) {
		list := l.promisedClaims[key]
		if claim := list[len(list)-1]; l.claim(key.Namespace, key.Name) == claim {
			c.Claims = append(c.Claims, carryClaim(claim, len(list)))
		}
	}
	return c
}

// ResumeFor implements plugin.Carrier. A binding cycle does not run, but it may have written.
func (b *VolumeBinding) ResumeFor(pl *plugin.Placement, data json.RawMessage) error {
	var c carried
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	if pl == nil {
		b.deps.Ledger.resume(c)
		return nil
	}
	r, known := pl.State.Read(Name, reserveKey).(*reservation)
	if !known {
		r = &reservation{}
		for i := range c.Volumes {
			pv := b.deps.Ledger.resumeVolume(&c.Volumes[i], c.Volumes[i].Promises)
			r.bindings = append(r.bindings, binding{pv: pv, promised: c.Volumes[i].Promises > 0})
		}
		for i := range c.Claims {
			r.provisions = append(r.provisions, provisioning{claim: b.deps.Ledger.resumeClaim(&c.Claims[i], c.Claims[i].Promises)})
		}
		pl.State.Write(Name, reserveKey, r)
	}
	for i := range r.bindings {
		if i < len(c.Volumes) && c.Volumes[i].Written {
			r.bindings[i].written = r.bindings[i].pv
		}
	}
	for i := range r.provisions {
		if i < len(c.Claims) && c.Claims[i].Written {
			r.provisions[i].written = r.provisions[i].claim
		}
	}
	return nil
}

// resume adds the promises that no pod in flight has.
func (l *Ledger) resume(c carried) {
	for i := range c.Volumes {
		v := &c.Volumes[i]
		l.resumeVolume(v, v.Promises-len(l.promisedVolumes[v.Name]))
	}
	for i := range c.Claims {
		v := &c.Claims[i]
		l.resumeClaim(v, v.Promises-len(l.promisedClaims[claims.Key{Namespace: v.Namespace, Name: v.Name}]))
	}
}

// resumeVolume promises a volume again, if its promise holds, and returns it as promised.
func (l *Ledger) resumeVolume(c *carriedVolume, promises int) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Name, ResourceVersion: c.Version}}
	stored := l.storage.Volumes.Volume(c.Name)
	holds := stored != nil && stored.ResourceVersion == c.Version
	if holds {
		pv = stored.DeepCopy()
	}
	pv.Spec.ClaimRef = c.Claim
	if c.ByController {
		metav1.SetMetaDataAnnotation(&pv.ObjectMeta, volume.AnnBoundByController, "yes")
	}
	for range promises {
		if holds {
			l.promisedVolumes[c.Name] = append(l.promisedVolumes[c.Name], pv)
		}
	}
	return pv
}

// resumeClaim is resumeVolume for a claim.
func (l *Ledger) resumeClaim(c *carriedClaim, promises int) *v1.PersistentVolumeClaim {
	key := claims.Key{Namespace: c.Namespace, Name: c.Name}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, ResourceVersion: c.Version}}
	stored := l.storage.Claims.Claim(c.Namespace, c.Name)
	holds := stored != nil && stored.ResourceVersion == c.Version
	if holds {
		claim = stored.DeepCopy()
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnSelectedNode, c.Node)
	for range promises {
		if holds {
			l.promisedClaims[key] = append(l.promisedClaims[key], claim)
		}
	}
	return claim
}
