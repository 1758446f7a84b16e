// Package cosign tests Berth's images and signatures against cosign and the registry of
// go-containerregistry. It is a module of its own, so that cosign's dependencies stay out of
// the oracle's.
package cosign
