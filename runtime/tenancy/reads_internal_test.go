package tenancy

import (
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

// TestGrantsOfFields: what an entry of package fields needs to be granted can be granted.
func TestGrantsOfFields(t *testing.T) {
	grants := map[string]string{} // and what needs it
	for _, e := range fields.All() {
		grants[e.Grant] = e.Manifest()
	}
	for _, e := range fields.Events() {
		grants[e.Grant] = "events of " + e.Resource
	}
	for _, f := range fields.Functions() {
		grants[f.Grant] = f.Name
	}
	delete(grants, "")
	delete(grants, fields.GrantFeeds) // these have lists of their own
	delete(grants, fields.GrantObjects)
	if len(grants) == 0 {
		t.Error("nothing needs a grant; the test checks nothing")
	}
	for grant, by := range grants {
		if !slices.Contains(allReads(), v1alpha1.Read(grant)) {
			t.Errorf("%s needs %q, which no grant can have: add it to the kinds of v1alpha1.Read", by, grant)
		}
	}
}
