package hostile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Addresses of the answers of this file's guests, and the layout of a directive.
const (
	answersAt     = 0x200000
	textsAt       = 0x210000
	directiveSize = 24
)

// directive is one of a guest's directives, by the number of its kind in the ABI.
type directive struct {
	kind          uint32
	first, second string
}

// data writes bytes into a module's memory.
func data(at int, bytes []byte) string {
	var b strings.Builder
	for _, c := range bytes {
		fmt.Fprintf(&b, "\\%02x", c)
	}
	return fmt.Sprintf("(data (i32.const %d) \"%s\")\n", at, b.String())
}

// table writes directives into a module's memory.
func table(directives []directive) string {
	var entries, texts []byte
	text := func(s string) {
		entries = binary.LittleEndian.AppendUint32(entries, uint32(textsAt+len(texts)))
		entries = binary.LittleEndian.AppendUint32(entries, uint32(len(s)))
		texts = append(texts, s...)
	}
	for _, d := range directives {
		entries = binary.LittleEndian.AppendUint32(entries, d.kind)
		entries = append(entries, 0, 0, 0, 0)
		text(d.first)
		text(d.second)
	}
	return data(answersAt, entries) + data(textsAt, texts)
}

// pointNames are the points of a manifest, by the names of their functions without berth_.
func pointNames() map[string]string {
	return map[string]string{
		"pre_filter": "preFilter", "add_pod": "addPod", "remove_pod": "removePod", "pre_score": "preScore", "score": "score", "normalize": "normalize", "filter": "filter", "post_filter": "postFilter", "reserve": "reserve", "unreserve": "unreserve", "permit": "permit", "pre_bind": "preBind",
		"bind": "bind", "post_bind": "postBind", "pre_enqueue": "preEnqueue", "queue_key": "queueSort", "hint": "hint",
	}
}

// at is a plugin with functions of points, each with a body.
func at(name, about, declarations string, set fields, functions ...string) (Attack, error) {
	points := fields{}
	source := "(module (import \"berth\" \"log\" (func $log (param i32 i32 i32)))\n(memory (export \"memory\") 40)\n;;+ abi alloc bad\n(global $n (mut i64) (i64.const 1))\n" + declarations
	for i := 0; i < len(functions); i += 2 {
		function, parameters := functions[i], " i32 i32"
		points[pointNames()[function]] = fields{}
		if !slices.Contains([]string{"filter", "score", "post_filter", "pre_enqueue", "queue_key", "hint"}, function) {
			parameters = ""
		}
		source += fmt.Sprintf("(func (export \"berth_%s\") (param $call i32) (param%s) (result i32) (local $i i32) (local $at i32) %s)\n", function, parameters, functions[i+1])
	}
	if set["events"] == nil {
		set["events"] = []fields{{"resource": "Pod", "actions": []string{"Add", "Update", "Delete"}}}
	}
	return one("points/"+name, about, source+")", set.with("points", points).with("host", []string{"log"}))
}

// points are answers that a host carries out, or uses outside of a cycle: directives, gates, keys of the queue and hints.
func points() ([]Attack, error) {
	l := &list{}
	granted := func() fields {
		return fields{"directives": fields{
			"annotations": []string{"example.com/"}, "labels": []string{"example.com/"}, "nominate": true, "bind": true, "waiting": true, "activate": true,
		}}
	}
	asks := func(n int) string {
		return fmt.Sprintf("(i32.store offset=88 (local.get $call) (i32.const %d)) (i32.store offset=92 (local.get $call) (i32.const %d)) ", answersAt, n)
	}
	const success, spins = "(i32.const 0)", "(loop $again (br $again)) (i32.const 0)"
	// waits is permit's answer to wait, for the longest time that a number can say.
	const waits = "(i64.store offset=96 (local.get $call) (i64.const -1)) (i32.const 4)"
	// rejects is a filter's answer for pods of a priority.
	const rejects = `(if (call $bad (local.get $call)) (then
		(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get 2) (local.get 1))))) (i32.const 0)`
	long := strings.Repeat("v", 100)
	for _, d := range []struct {
		name, about string
		kind        uint32
		second      string
		at          []string
	}{
		{"annotations", "256 annotations of 100 bytes", 1, long, []string{"reserve", success, "pre_bind", success}},
		{"annotations-evil", "256 annotations of escapes", 1, strings.ToValidUTF8(evil, "?"), []string{"pre_bind", success}},
		{"labels", "256 labels", 2, "v", []string{"reserve", success, "pre_bind", success}},
		{"labels-evil", "256 invalid labels", 2, evil, []string{"reserve", success}},
		{"nominations", "256 nominations of nodes that do not exist", 3, "", []string{"filter", rejects, "post_filter", success}},
		{"bindings", "binds 256 times", 4, "", []string{"bind", success}},
		{"allows", "allows 256 pods that do not wait", 5, "", []string{"permit", waits, "post_bind", success}},
		{"rejects", "rejects 256 pods for reasons with escapes", 6, strings.Repeat(evil, 4), []string{"permit", waits, "post_bind", success}},
		{"activates", "activates 256 pods", 7, "", []string{"reserve", success, "unreserve", success, "permit", waits, "post_bind", success}},
		{"unknown", "256 unknown directives", 99, long, []string{"reserve", success}},
	} {
		var all []directive
		for i := range 256 {
			all = append(all, directive{d.kind, fmt.Sprintf("example.com/key-%d", i), d.second})
		}
		functions := []string{}
		for i := 0; i < len(d.at); i += 2 {
			body := d.at[i+1]
			if d.at[i] != "filter" {
				body = asks(len(all)) + body
			}
			functions = append(functions, d.at[i], body)
		}
		l.add(at("directives-"+d.name, d.about, table(all), granted(), functions...))
	}
	l.add(at("directives-beyond", "more directives than memory holds", "", granted(), "reserve", asks(-1)+success))
	l.add(at("permit-waits", "waits for the longest time that a number can say", "", granted(), "permit", waits))

	// Other attempts at once, and as late as a number can say, for all pods, which the plugin rejects or holds back.
	for name, ms := range map[string]string{"soon": "1", "late": "-1"} {
		retry := "(i64.store offset=104 (local.get $call) (i64.const " + ms + ")) "
		later := fields{"abi": "1.1"}
		l.add(at("retry-"+name, "another attempt after "+ms+" ms, from each point that can ask for one", "", later,
			"pre_filter", retry+success, "reserve", retry+"(i32.const 2)", "permit", retry+waits))
		l.add(at("retry-"+name+"-gate", "another look after "+ms+" ms at pods that it holds back", "", later, "pre_enqueue", `
			(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (local.get 2))
			(loop $pod (i64.store (i32.add (i32.load offset=32 (local.get $call)) (i32.shl (local.get $i) (i32.const 3))) (i64.const `+ms+`))
				(br_if $pod (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get 2)))) (i32.const 0)`))
	}

	// Answers about many pods: a code and a reason for each.
	gate := `(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (local.get 2))
		(loop $pod (i32.store16 (i32.add (i32.load offset=28 (local.get $call)) (i32.shl (local.get $i) (i32.const 1))) (i32.const 1))
			(br_if $pod (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get 2))))
		(i32.store offset=64 (local.get $call) (i32.const 16)) (i32.store offset=68 (local.get $call) (i32.const 1)) (i32.const 0)`
	reason := data(16, []byte{32, 0, 0, 0, 1, 0, 0, 0}) + data(32, binary.LittleEndian.AppendUint32([]byte{0, 0, 0x21, 0}, 60_000)) +
		data(textsAt, []byte(strings.Repeat(evil, 60_000/len(evil)+1)))
	l.add(at("gates", "gates all pods, for a reason of 60,000 bytes with escapes", reason, fields{}, "pre_enqueue", gate))
	l.add(at("gates-reason", "gates all pods, for a reason of 1,024 bytes", data(16, []byte{32, 0, 0, 0, 1, 0, 0, 0})+
		data(32, binary.LittleEndian.AppendUint32([]byte{0, 0, 0x21, 0}, 1024))+data(textsAt, []byte(strings.Repeat("r", 1024))), fields{}, "pre_enqueue", gate))
	// reasons rejects nodes, hypothetical ones each time for 16 other texts of 1,024 bytes.
	var texts []byte
	for range 16 {
		texts = append(binary.LittleEndian.AppendUint32(texts, textsAt), 0, 4, 0, 0)
	}
	l.add(at("reasons-hypothetical", "16 KiB of other reasons for each hypothetical node of a preemption",
		data(16, []byte{32, 0, 0, 0, 16, 0, 0, 0})+data(32, texts)+data(textsAt, []byte(strings.Repeat("r", 1024))), fields{}, "filter", rejects[:len(rejects)-len(success)]+`
			(if (i32.load offset=36 (local.get $call)) (then
				(global.set $n (i64.add (global.get $n) (i64.const 1)))
				(loop $digit (i32.store8 (i32.add (i32.const 0x210000) (local.get $i)) (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (i64.shr_u (global.get $n) (i64.extend_i32_u (i32.shl (local.get $i) (i32.const 2)))) (i64.const 10)))))
					(br_if $digit (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
				(i32.store16 (i32.load offset=28 (local.get $call)) (i32.const 1))
				(i32.store offset=64 (local.get $call) (i32.const 16)) (i32.store offset=68 (local.get $call) (i32.const 1))))
			`+success))
	nonsense := `(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 77) (local.get 2)) (i32.const 77)`
	flood := `(loop $next (call $log (i32.const 3) (i32.const 64) (i32.const 4000))
		(br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 200)))) (i32.const 0)`
	wide := data(64, []byte(strings.Repeat("\u00a0", 2000)))
	for function, what := range map[string]string{"pre_enqueue": "gates", "queue_key": "keys", "hint": "hints"} {
		more := []string{}
		if function == "hint" { // pods that it is asked about have been rejected
			more = []string{"filter", rejects}
		}
		try := func(name, about, body string) {
			l.add(at(what+"-"+name, about, wide, fields{}, append([]string{function, body}, more...)...))
		}
		try("spin", "a "+function+" that does not end", spins)
		try("nonsense", "a "+function+" that answers unknown codes", nonsense)
		try("log", "a "+function+" that floods the log with spaces that are escaped, and succeeds", flood)
	}
	l.add(at("filter-logs", "a filter that floods the log and succeeds", wide, fields{}, "filter", flood))
	key := func(length string) string {
		return `(loop $pod
			(local.set $at (i32.add (i32.load offset=52 (local.get $call)) (i32.mul (local.get $i) (i32.const 68))))
			(i32.store (local.get $at) ` + length + `)
			(global.set $n (i64.add (i64.mul (global.get $n) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
			(i64.store offset=4 (local.get $at) (global.get $n))
			(br_if $pod (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get 2)))) (i32.const 0)`
	}
	l.add(at("keys-change", "keys of the queue that differ each time", "", fields{}, "queue_key", key("(i32.const 64)")))
	l.add(at("keys-long", "keys of the queue that are too long", "", fields{}, "queue_key", key("(i32.const 65)")))
	l.add(at("keys-endless", "keys of the queue of 4 GiB", "", fields{}, "queue_key", key("(i32.const -1)")))
	return l.all()
}
