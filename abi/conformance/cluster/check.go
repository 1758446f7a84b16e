package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Check finds mistakes in a cluster: missing or duplicate names, pods on unknown nodes,
// quantities in an unsupported form.
//
// # Errors
//
// All mistakes, joined.
func (c *Cluster) Check() error {
	var errs []error
	seen := map[string]bool{}
	once := func(kind, name string) {
		if name == "" || seen[kind+name] {
			errs = append(errs, fmt.Errorf("cluster: %s %q has no name, or appears twice", kind, name))
		}
		seen[kind+name] = true
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		once("node", n.Metadata.Name)
		for _, quantities := range []map[string]Quantity{n.Status.Allocatable, n.Status.Capacity} {
			for resource, q := range quantities {
				if _, err := q.In(resource); err != nil {
					errs = append(errs, fmt.Errorf("node %s: %w", n.Metadata.Name, err))
				}
			}
		}
	}
	for i := range c.Namespaces {
		once("namespace", c.Namespaces[i].Metadata.Name)
	}
	for i := range c.Pods {
		p := &c.Pods[i]
		once("pod", p.Metadata.Namespace+"/"+p.Metadata.Name)
		once("uid", p.Metadata.UID)
		if c.Node(cmp.Or(p.Spec.NodeName, p.Status.NominatedNodeName)) == nil {
			errs = append(errs, fmt.Errorf("cluster: pod %s/%s is on node %q, which does not exist", p.Metadata.Namespace, p.Metadata.Name, p.Spec.NodeName))
		}
		errs = append(errs, p.Check())
	}
	return errors.Join(errs...)
}

// Check finds quantities of a pod in an unsupported form.
func (p *Pod) Check() error {
	var errs []error
	all := []map[string]Quantity{p.Spec.Overhead}
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		all = append(all, c.Resources.Requests, c.Resources.Limits)
	}
	for _, quantities := range all {
		for resource, q := range quantities {
			if _, err := q.In(resource); err != nil {
				errs = append(errs, fmt.Errorf("pod %s/%s: %w", p.Metadata.Namespace, p.Metadata.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}
