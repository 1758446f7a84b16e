// Package laws holds the laws that the whole repository obeys: who imports whom, one package comment each, file sizes, links
// that lead somewhere, one Kubernetes version. They are its tests. A law that fails says why it exists and what to do instead.
package laws
