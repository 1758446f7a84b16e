package strictyaml

// fit reports whether a document, written out without aliases, has at most most
// bytes. look returns the bytes of a node itself and its parts, which for an alias is
// the node that it stands for. A node that contains itself does not fit. Each node is
// visited once.
func fit[N comparable](root N, look func(N) (bytes int, parts []N), most int) bool {
	const running = -1
	sizes := map[N]int{}
	var size func(N) int
	size = func(n N) int {
		if known, seen := sizes[n]; seen {
			return known
		}
		sizes[n] = running
		total, parts := look(n)
		for _, part := range parts {
			s := size(part)
			if s == running || total > most-s {
				return running // and stays so: nothing above it fits either
			}
			total += s
		}
		sizes[n] = total
		return total
	}
	total := size(root)
	return total != running && total <= most
}
