// Package tenancy decides which plugins the objects of berth.dev/v1alpha1 attach, and says of
// each object that attaches none why not. It reads no cluster and runs nothing: Resolve is a
// function of the objects, the modules and the time.
package tenancy
