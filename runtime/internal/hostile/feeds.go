package hostile

import (
	"fmt"
	"math"
	"strings"
)

// Feed is one of the feeds that an attack's scheduler has, from a file with values by the names of nodes.
type Feed struct {
	Name, Unit string
	Values     map[string]int64
}

// columns are functions that read the columns of feeds. $column returns where the k-th column of the nodes table with an id is, 0 if there
// is none; $row returns the i-th row of a call, and $sum adds up what all columns of feeds say of a row.
const columns = `
	(func $table (param $call i32) (result i32) (i32.load offset=40 (i32.load (local.get $call))))
	(func $column (param $call i32) (param $id i32) (param $k i32) (result i32) (local $entry i32) (local $n i32)
		(local.set $entry (i32.load offset=24 (call $table (local.get $call))))
		(local.set $n (i32.load offset=20 (call $table (local.get $call))))
		(block $none (loop $next
			(br_if $none (i32.eqz (local.get $n)))
			(if (i32.eq (i32.load (local.get $entry)) (local.get $id)) (then
				(if (i32.eqz (local.get $k)) (then (return (i32.load offset=12 (local.get $entry)))))
				(local.set $k (i32.sub (local.get $k) (i32.const 1)))))
			(local.set $entry (i32.add (local.get $entry) (i32.const 24)))
			(local.set $n (i32.sub (local.get $n) (i32.const 1)))
			(br $next)))
		(i32.const 0))
	(func $row (param $call i32) (param $lo i32) (param $i i32) (result i32)
		(if (i32.load offset=16 (local.get $call)) (then
			(return (i32.load (i32.add (i32.load offset=16 (local.get $call)) (i32.shl (local.get $i) (i32.const 2)))))))
		(i32.add (local.get $lo) (local.get $i)))
	(func $sum (param $call i32) (param $row i32) (result i64) (local $at i32) (local $k i32) (local $sum i64)
		(block $done (loop $next
			(local.set $at (call $column (local.get $call) (i32.const 190) (local.get $k)))
			(br_if $done (i32.eqz (local.get $at)))
			(local.set $sum (i64.add (local.get $sum) (i64.load (i32.add (local.get $at) (i32.shl (local.get $row) (i32.const 3))))))
			(local.set $at (call $column (local.get $call) (i32.const 191) (local.get $k)))
			(local.set $sum (i64.add (local.get $sum) (i64.load8_u (i32.add (local.get $at) (local.get $row)))))
			(local.set $k (i32.add (local.get $k) (i32.const 1)))
			(br $next)))
		(local.get $sum))
`

// rejecting is a filter's body that rejects rows for which a condition holds; its row is in $at.
func rejecting(condition string) string {
	return `(loop $next
		(local.set $at (call $row (local.get $call) (local.get 1) (local.get $i)))
		(if ` + condition + ` (then (i32.store8 (i32.add (i32.load offset=24 (local.get $call)) (local.get $i)) (i32.const 2))))
		(br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.load offset=20 (local.get $call))))) (i32.const 0)`
}

// feeds are plugins that read feeds: such as are not there, at points that have none, and values that no operator means.
func feeds() ([]Attack, error) {
	l := &list{}
	reads := func(more fields, feeds ...string) fields {
		all := fields{"pod": []string{"priority"}, "feeds": feeds}
		for k, v := range more {
			all[k] = v
		}
		return fields{"abi": "1.1", "reads": all}
	}
	try := func(name, about string, declared []Feed, set fields, functions ...string) *Attack {
		a := l.add(at(name, about, columns, set, functions...))
		a.Name, a.Feeds = "feeds/"+name, declared
		return a
	}
	values := func(of func(i int) int64, nodes int) map[string]int64 {
		out := make(map[string]int64, nodes)
		for i := range nodes {
			out[fmt.Sprintf("node-%04d", i)] = of(i)
		}
		return out
	}
	load := []Feed{{"load", "x", values(func(i int) int64 { return int64(i) }, 20)}}
	const success, odd = "(i32.const 0)", "(i32.wrap_i64 (i64.and (call $sum (local.get $call) (local.get $at)) (i64.const 1)))"

	try("undeclared", "reads and requires a feed that is not declared",
		load, reads(fields{"requiredFeeds": []string{"other:x"}}, "load:x", "other:x"),
		"filter", success).Refused = "the feed other:x, which is not declared"
	try("unit", "reads a feed in another unit",
		load, reads(nil, "load:y"), "filter", success).Refused = "in the unit y, and the feed is declared in x"
	var many, long []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf("%s-%d:%s", strings.Repeat("long", 50), i, strings.Repeat("u", 32)))
	}
	try("flood", "reads 2,000 feeds with long names that are not declared", load, reads(nil, many...), "filter", success).Refused = "feeds"
	for range 40 {
		long = append(long, strings.Repeat("l", 60)+":"+evil)
	}
	try("names", "reads feeds whose names and units are long, and bytes that a terminal acts upon",
		load, reads(nil, long...), "filter", success).Refused = "feeds"
	try("since-nothing", "reads what samples cannot contain, of no feed", load,
		fields{"abi": "1.1", "reads": fields{"node": []string{"requestedSince"}, "resources": []string{"cpu"}}}, "filter", success).Refused = "reads.feeds"

	var all []Feed
	var ids, resources []string
	for i := range 63 { // a feed less than can be declared, so that each second node has an odd sum
		f := Feed{fmt.Sprintf("%s.f-%d", strings.Repeat("l", 60), i), strings.Repeat("u", 32), values(func(n int) int64 { return int64(n * (1 + i%2)) }, 20)}
		all, ids, resources = append(all, f), append(ids, f.Name+":"+f.Unit), append(resources, fmt.Sprintf("example.com/r-%d", i))
	}
	everything := reads(fields{"node": []string{"requestedSince"}, "resources": resources}, ids...)
	try("all", "reads 63 feeds, and what their samples cannot contain of 63 resources", all, everything, "filter", rejecting(odd))
	workers := try("workers", "answers by three feeds of 5,512 nodes", []Feed{
		{"a", "x", values(func(i int) int64 { return int64(i) * 7 }, 5512)}, {"b", "x", values(func(i int) int64 { return -int64(i) / 3 }, 5000)},
		{"c", "x", values(func(i int) int64 { return int64(i % 5) }, 100)},
	}, reads(nil, "a:x", "b:x", "c:x"), "filter", rejecting(odd))
	workers.Nodes, workers.Pods, workers.Workers = 5512, 6, true

	ends := []int64{math.MaxInt64, math.MinInt64, -1, 0, 101, math.MaxInt64 - 1}
	try("extremes", "gives nodes the largest, the smallest and negative values of a feed as scores",
		[]Feed{{"load", "x", values(func(i int) int64 { return ends[i%len(ends)] }, 20)}}, reads(nil, "load:x"), "score", `
		(loop $next
			(i64.store (i32.add (i32.load offset=32 (local.get $call)) (i32.shl (local.get $i) (i32.const 3)))
				(i64.load (i32.add (call $column (local.get $call) (i32.const 190) (i32.const 0)) (i32.shl (local.get $i) (i32.const 3)))))
			(br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.load offset=20 (local.get $call))))) (i32.const 0)`)
	since := reads(fields{"node": []string{"requestedSince"}, "resources": []string{"cpu"}}, "load:x")
	for name, k := range map[string]string{"since-beyond": "1", "since-far": "0x7fffffff", "since-negative": "-1"} {
		try(name, "reads what samples cannot contain of a resource that it has not declared, number "+k, load, since, "filter",
			rejecting(fmt.Sprintf("(i32.load8_u (i32.add (call $column (local.get $call) (i32.const 193) (i32.const %s)) (local.get $at)))", k)))
	}
	try("since-rows", "reads what samples cannot contain of nodes that do not exist", load, since, "filter",
		rejecting("(i32.load8_u (i32.add (call $column (local.get $call) (i32.const 193) (i32.const 0)) (i32.const 0x7fffffff)))"))
	// The points of one pod without a node, and of many pods, have no feeds; reserve and later have those of the chosen node.
	const reads190 = "(drop (i64.load (i32.add (call $column (local.get $call) (i32.const 190) (i32.const 0)) (i32.const 8)))) "
	try("points", "reads feeds at points that have no nodes, or one",
		load, since, "pre_enqueue", reads190+success, "queue_key", reads190+success,
		"hint", reads190+success, "reserve", reads190+success, "permit", reads190+success, "pre_bind", reads190+success, "post_bind", reads190+success)
	try("writes", "writes what feeds say of nodes", load, reads(nil, "load:x"), "filter",
		"(i64.store (call $column (local.get $call) (i32.const 190) (i32.const 0)) (i64.const 1)) "+rejecting(odd))
	more, err := feedsOfTenants(reads)
	if l.err == nil {
		l.err = err
	}
	return append(l.attacks, more...), l.err
}

// feedsOfTenants are plugins of tenants that read or require feeds, and pods with requests that no node has.
func feedsOfTenants(reads func(more fields, feeds ...string) fields) ([]Attack, error) {
	l := &list{}
	attack := func(name, about, as string, feed Feed, objects []object, set fields, functions ...string) *Attack {
		a := l.add(at(name, about, columns, set, functions...))
		a.Name, a.As, a.Feeds, a.Cluster = "feeds/"+name, as, []Feed{feed}, cluster(objects)
		return a
	}
	granted := func(feeds ...string) []object {
		all := attached("filter")
		all[0]["spec"].(object)["feeds"] = feeds
		return append([]object{node(nil), pod("evil", "waits", 100, "100m", nil)}, all...)
	}
	const success = "(i32.const 0)"
	says := Feed{"load", "x", map[string]int64{"node": 7}}
	attack("not-granted", "a tenant's plugin reads a feed that its grant does not have",
		AsTenant, says, granted("other"), reads(nil, "load:x"),
		"filter", success).Refused = "ReadNotGranted"
	attack("pattern", "a tenant's plugin reads a feed whose name begins as one of its grant",
		AsTenant, says, granted("lo", "load.*"), reads(nil, "load:x"),
		"filter", success).Refused = "ReadNotGranted"
	attack("required", "a tenant's plugin requires a feed that never says anything",
		AsTenant, Feed{"load", "x", map[string]int64{}}, granted("*"),
		reads(fields{"requiredFeeds": []string{"load:x"}}, "load:x"), "filter", success).Barred = "waits"
	named := granted()
	named[len(named)-2]["spec"].(object)["configNames"] = []string{"example.com/pool", "example.com/gpu-*"}
	named[len(named)-1]["spec"].(object)["config"] = object{"keys": []string{"example.com/pool", "example.com/pools"}}
	names := l.add(one("feeds/names-of-configuration", "a tenant's configuration names a label of nodes that begins as one of its grant", configured,
		filtering().with("abi", "1.1").with("config", fields{}).with("reads", fields{"nodeLabels": []fields{{"fromConfig": "/keys"}}})))
	names.As, names.Cluster, names.Refused = AsTenant, cluster(named), "ReadNotGranted"
	// Two pods request all that a number can say: a sum that wrapped round would be negative, and the node rejected.
	var placedPods []object
	for i := range 2 {
		p := placed(pod("evil", fmt.Sprint("huge-", i), 0, "1m", nil), "node")
		p["spec"].(object)["containers"].([]object)[0]["resources"] = object{"requests": object{"example.com/huge": fmt.Sprint(math.MaxInt64)}}
		p["status"] = object{"conditions": []object{{"type": "PodScheduled", "status": "True", "lastTransitionTime": "9999-12-31T23:59:59Z"}}}
		placedPods = append(placedPods, p)
	}
	attack("since-huge", "no plugin, but pods that request the largest number twice, as of the future",
		AsPlatform, says, append(placedPods, node(nil)),
		reads(fields{"node": []string{"requestedSince"}, "resources": []string{"example.com/huge"}}, "load:x"), "filter",
		rejecting(`(i64.le_s (i64.load (i32.add (call $column (local.get $call) (i32.const 193) (i32.const 0)) (i32.shl (local.get $at) (i32.const 3)))) (i64.const 0))`))
	return l.all()
}
