package conformance_test

// guestMistakes are mistakes of guests, each with the duty that must fail.
func guestMistakes() map[string]struct{ plugin, duty string } {
	const (
		starts, alloc = "an instance can be made", "berth_alloc returns memory"
		traps, bare   = "no call traps (", "no call traps without nodes"
		region        = "only answers are written into the region"
		functions     = "only declared host functions are called"
		repeated      = "the same calls have the same answers"
		one           = "one instance answers a second pod"
		numbers       = "answers do not depend on the order of rows"
		moving        = "the state has the same meaning"
		state         = "the state holds no ids"
		unknown       = "unknown tables, columns, types, fields"
		split         = "answers of scope node depend on their rows alone"
		shards        = "answers of scope node do not depend on other nodes"
		growing       = "strings that are added within an epoch"
		relaid        = "nothing of a layout is kept"
		overlay       = "an overlay row is judged"
		reasons       = "a row has its own reasons"
		whatIf        = "after add_pod and remove_pod"
		alone         = "a pod in a list is answered"
		lasting       = "an instance answers the same calls"
	)
	answers := func(point string) string { return "answers of " + point + " are well formed" }
	all := map[string]struct{ plugin, duty string }{
		"cannot be instantiated":                            {"pools", starts},
		"refuses its configuration":                         {"pools", starts},
		"has no room":                                       {"pools", alloc},
		"the region is not aligned":                         {"everything", alloc},
		"the region is out of bounds":                       {"everything", alloc},
		"has no room for what it aligns":                    {"pools", alloc},
		"the region is over the configuration":              {"pools", alloc},
		"traps without nodes":                               {"pools", bare},
		"queue points trap":                                 {"everything", traps},
		"writes into the header":                            {"pools", region},
		"writes beyond its codes":                           {"pools", region},
		"writes into a column":                              {"pools", region},
		"logs what it did not declare":                      {"pools", functions},
		"sets state of scope node":                          {"pools", functions},
		"keeps a pool while the generation stays":           {"pools", one},
		"keeps a pool's id while the generation stays":      {"pools", one},
		"reasons of earlier calls take up room":             {"pools", reasons},
		"counts its calls":                                  {"pools", one},
		"keeps room for each call":                          {"pools", lasting},
		"fails after a while":                               {"everything", lasting},
		"keeps the pod of an earlier call":                  {"pools", one},
		"depends on row numbers":                            {"pools", numbers},
		"depends on ids":                                    {"pools", numbers},
		"depends on the order of slots":                     {"pools", numbers},
		"depends on the generation":                         {"pools", repeated},
		"depends on other nodes":                            {"pools", shards},
		"the first node of a call gets more":                {"pools", split},
		"minds what it does not know":                       {"pools", unknown},
		"answers Skip for a row":                            {"pools", answers("filter")},
		"pre_filter of scope node returns rows":             {"pools", answers("preFilter")},
		"returns 9":                                         {"pools", answers("preFilter")},
		"has a reason set that is not there":                {"pools", answers("filter")},
		"has reasons beyond the memory":                     {"everything", answers("preEnqueue")},
		"keys have ids":                                     {"everything", numbers},
		"hints go by the row of a node":                     {"everything", numbers},
		"the first row is left":                             {"everything", numbers},
		"nominates the first row":                           {"everything", numbers},
		"nominates an unknown node":                         {"everything", answers("postFilter")},
		"the state holds an id":                             {"everything", state},
		"the state holds a slot":                            {"everything", moving},
		"reads its state by an id":                          {"everything", moving},
		"normalises to 101":                                 {"everything", answers("normalize")},
		"judges the first 512 rows":                         {"pools", numbers},
		"an id has 16 bits":                                 {"pools", numbers},
		"a row set is not looked at by score":               {"everything", numbers},
		"only the first 64 pods are held back":              {"everything", alone},
		"all pods of a list are answered as the first":      {"everything", alone},
		"scans strings once in an epoch":                    {"pools", growing},
		"keeps where the tables are":                        {"pools", relaid},
		"looks at a layout once at each place":              {"pools", relaid},
		"keeps where its first call was":                    {"pools", traps},
		"keeps where scores go while the layout stays":      {"pools", relaid},
		"keeps where the pod is while the layout stays":     {"pools", relaid},
		"keeps where the header is while the layout stays":  {"pools", traps},
		"an overlay row is not judged":                      {"pools", overlay},
		"reasons are in reverse":                            {"pools", reasons},
		"remove_pod does nothing":                           {"everything", whatIf},
		"add_pod counts twice":                              {"everything", whatIf},
		"add_pod fails":                                     {"everything", whatIf},
		"a large block is over the one before":              {"pools", alloc},
		"a layout has 16 bits":                              {"pools", relaid},
		"an epoch has 32 bits":                              {"pools", one},
		"labels what it did not declare":                    {"everything", answers("reserve")},
		"writes an invalid key":                             {"everything", answers("reserve")},
		"binds without a directive":                         {"everything", answers("bind")},
		"a call has fewer than 1,024 rows":                  {"pools", traps},
		"a list ends where that of the next row begins":     {"sums", numbers},
		"a string ends where the next one begins":           {"sums", unknown},
		"a list is in the column after its spans":           {"sums", unknown},
		"rows up to the capacity are there":                 {"sums", unknown},
		"every flag is the first one":                       {"sums", unknown},
		"the first overlay row is meant":                    {"sums", numbers},
		"a namespace's row is kept":                         {"sums", growing},
		"a pod is kept by its UID":                          {"sums", one},
		"a pod is kept by its name":                         {"sums", one},
		"a pod is kept while the generation stays":          {"sums", growing},
		"a pod is kept while the epoch stays":               {"sums", growing},
		"a pod is kept by its UID and generation":           {"sums", growing},
		"a pod of a node is kept by its UID":                {"sums", one},
		"only the last image counts":                        {"sums", numbers},
		"the reason is that of the pod before":              {"sums", reasons},
		"what a what-if counted is kept until the next pod": {"sums", repeated},
		"filter keeps what a what-if counted":               {"sums", repeated},
		"what another plugin published is kept":             {"sums", one},
		"what was published keeps its length":               {"sums", one},
		"what pre_filter saw of the pod is kept":            {"sums", one},
		"nodes that are gone are still there":               {"sums", growing},
		"a slot has 16 bits":                                {"sums", numbers},
		"a UID has at most 32 bytes":                        {"sums", traps},
		"a name has at most 128 bytes":                      {"sums", traps},
		"a label's key has at most 128 bytes":               {"sums", traps},
		"a namespace's name has at most 32 bytes":           {"sums", traps},
		"a term has requirements":                           {"sums", traps},
		"looks at the namespaces":                           {"pools", split},
		"an event has one action":                           {"everything", unknown},
		"every object has a namespace":                      {"everything", traps},
		"an event's name is kept":                           {"everything", one},
		"unreserve expects reserve":                         {"everything", traps},
		"what is reserved is kept":                          {"everything", one},
		"counts what is reserved":                           {"everything", one},
		"an annotation has at most 1,024 bytes":             {"everything", traps},
	}
	for list, rooms := range lists() {
		for _, n := range rooms {
			all[onlyFirst(n, list)] = struct{ plugin, duty string }{"sums", numbers}
		}
	}
	return all
}
