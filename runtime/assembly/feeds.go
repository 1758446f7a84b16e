package assembly

import (
	"fmt"
	"slices"
	"strings"
)

// undeclared says which feed of those that a module reads is not declared, or has another unit; nil if all are declared. Names have
// their units. declared is nil where nothing is known.
func undeclared(reads, declared []string) error {
	for _, feed := range reads {
		if declared == nil || slices.Contains(declared, feed) {
			continue
		}
		name, unit, _ := strings.Cut(feed, ":")
		for _, known := range declared {
			if has, other, _ := strings.Cut(known, ":"); has == name {
				return fmt.Errorf("it reads the feed %s in the unit %s, and the feed is declared in %s: declare it in %s under this name, and under another in %s",
					name, unit, other, unit, other)
			}
		}
		return fmt.Errorf("it reads the feed %s, which is not declared: declare it in the file of --feeds", feed)
	}
	return nil
}
