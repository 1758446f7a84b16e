package berth

// Handles of names that are known only at run time, in Configure: the manifest's and those that the configuration brings.

// FindResource returns the handle of a resource; false if it is not declared.
func (b Base) FindResource(name string) (Resource, bool) {
	i, ok := b.find(listResources, name)
	return Resource(i), ok
}

// FindNodeLabel returns the handle of a label key of nodes; false if it is not declared.
func (b Base) FindNodeLabel(key string) (NodeLabel, bool) {
	i, ok := b.find(listNodeLabels, key)
	return NodeLabel(i), ok
}

// FindNodeAnnotation returns the handle of an annotation key of nodes; false if it is not declared.
func (b Base) FindNodeAnnotation(key string) (NodeAnnotation, bool) {
	i, ok := b.find(listNodeAnnotations, key)
	return NodeAnnotation(i), ok
}

// FindFeed returns the handle of a feed; false if it is not declared.
func (b Base) FindFeed(name string) (Feed, bool) {
	i, ok := b.find(listFeeds, name)
	return Feed(i), ok
}

// FindPodLabel returns the handle of a label key of pods on nodes; false if it is not declared.
func (b Base) FindPodLabel(key string) (PodLabel, bool) {
	i, ok := b.find(listPodLabels, key)
	return PodLabel(i), ok
}

// FindPodAnnotation returns the handle of an annotation key of pods; false if it is not declared.
func (b Base) FindPodAnnotation(key string) (PodAnnotation, bool) {
	i, ok := b.find(listPodAnnotations, key)
	return PodAnnotation(i), ok
}
