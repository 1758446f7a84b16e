package main

import (
	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// in returns the schema of an object that has a field of a schema.
func in(name string, schema object) object {
	return object{{"properties", object{{name, schema}}}, {"required", list{name}}}
}

// may returns the schema of an object whose field, if there is one, fits a schema.
func may(name string, schema object) object {
	return object{{"properties", object{{name, schema}}}}
}

func contains(names []string) object { return object{{"contains", choice(names, nil)}} }

func when(is, then object) object { return object{{"if", is}, {"then", then}} }

// conditions returns the rules of ABI-9 that are about several fields.
func conditions() list {
	notEmpty := object{{"minItems", 1}}
	out := list{
		// ABI-5.8, ABI-9.5, ABI-5.13, ABI-5.19
		when(in("points", object{{"anyOf", list{in("preScore", nil), in("normalize", nil)}}}),
			may("points", may("score", may("scope", object{{"const", "cluster"},
				{"errorMessage", "a score with preScore or normalize must have scope cluster"}})))),
		when(in("points", in("normalize", nil)),
			may("points", may("score", may("normalize", object{{"const", "none"}, {"errorMessage", "the module exports normalize itself"}})))),
		when(in("points", in("addPod", nil)), may("points", may("filter", may("scope", object{{"const", "cluster"},
			{"errorMessage", "a filter with addPod must have scope cluster"}})))),
		when(in("points", in("bind", nil)), in("directives", in("bind", object{{"const", true}}))),
	}
	// ABI-9.4
	each := map[string][]string{}
	for _, e := range fields.All() {
		if e.Arg == fields.ArgResource && e.List != "" {
			each[e.List] = append(each[e.List], e.Name)
		}
	}
	for _, l := range fields.Lists() {
		if each[l.Name] != nil {
			out = append(out, when(in("reads", in(l.Name, contains(each[l.Name]))), in("reads", in("resources", notEmpty))))
		}
	}
	now := in("reads", in("pod", contains([]string{"now"})))
	out = append(out,
		when(in("reads", in("pod", contains([]string{"annotations"}))), in("reads", in("podAnnotations", notEmpty))),
		when(in("reads", in("node", contains([]string{"requestedSince"}))), in("reads", in("feeds", notEmpty))),
		when(in("reads", in("node", contains([]string{"nominated"}))), in("reads", in("node", contains([]string{"pods"})))),
		when(in("reads", in("requiredFeeds", notEmpty)), in("reads", in("feeds", notEmpty))),
		append(when(now, in("reads", in("resolution", notEmpty))),
			member{"else", may("reads", may("resolution", object{{"maxItems", 0}, {"errorMessage", "it is of pod: now, which is not read"}}))}),
	)
	// ABI-9.15
	for _, l := range fields.Lists() {
		if l.FromConfig {
			out = append(out, when(in("reads", in(l.Name, object{{"contains", object{{"type", "object"}}}})), object{{"required", list{"config"}}}))
		}
	}
	for minor := range abi.Minor {
		out = append(out, when(in("abi", object{{"const", version(minor)}}), later(minor)))
	}
	return out
}

// later returns the schema of manifests without the names that came after a minor version (ABI-9.14).
func later(minor int) object {
	none := func(names []string, what string) object {
		return object{{"items", object{{"not", choice(names, nil)}, {"errorMessage", what + " came with a later ABI than " + version(minor)}}}}
	}
	reads, out := object{}, object{}
	for _, l := range fields.Lists() {
		var after []string
		for _, n := range names(l.Name) {
			if n.since > minor {
				after = append(after, n.name)
			}
		}
		switch {
		case sinceList(l.Name) > minor:
			reads = append(reads, member{l.Name, object{{"maxItems", 0}, {"errorMessage", "the list came with a later ABI than " + version(minor)}}})
		case after != nil:
			reads = append(reads, member{l.Name, none(after, "the name")})
		case l.FromConfig && minor < 1:
			reads = append(reads, member{l.Name, object{{"items", object{{"type", "string"}, {"errorMessage", "fromConfig came with ABI 1.1"}}}}})
		}
	}
	out = append(out, member{"reads", object{{"properties", reads}}})
	var host, resource, action []string
	for _, f := range functions() {
		if f.since > minor {
			host = append(host, f.name)
		}
	}
	for _, e := range resources() {
		if e.Since > minor {
			resource = append(resource, e.Resource)
		}
	}
	for _, a := range fields.Actions() {
		if a.Since > minor {
			action = append(action, a.Name)
		}
	}
	if host != nil {
		out = append(out, member{"host", none(host, "the function")})
	}
	event := object{}
	if resource != nil {
		event = append(event, member{"resource", object{{"not", choice(resource, nil)}}})
	}
	if action != nil {
		event = append(event, member{"actions", none(action, "the action")})
	}
	if len(event) > 0 {
		out = append(out, member{"events", object{{"items", object{{"properties", event}}}}})
	}
	return object{{"properties", out}}
}
