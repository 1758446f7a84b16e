package laws_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"
)

const module = "github.com/berth-scheduler/berth"

// design returns the order of direct imports, lowest first. A package may import what its layer stands on, what those
// stand on, and so on down; its own subfolders; and, under runtime/, runtime/internal. Test files may do the same, and
// import what their row says for tests. No row names what the package does not import.
func design() rules {
	const nothing = "" // of ours
	return rules{
		layers: []layer{
			{pkg: "internal", on: nothing, libs: stdlibOnly,
				why: "anything here may import it, guests included, so it must not pull anything in",
				fix: "take an interface or a function as argument, or move the code to the layer whose types it needs"},

			{pkg: "internal/seeded", on: nothing,
				why: "tests of every layer draw through it, and nothing else does",
				fix: "import it in test files only"},

			{pkg: "abi", on: nothing, libs: stdlibOnly,
				why: "every SDK and every guest compiles against the ABI's names, codes and limits",
				fix: "keep numbers and names in abi; put code that needs more into abi/wire or runtime"},
			{pkg: "abi/fields", on: "abi", libs: stdlibOnly,
				why: "what is generated from the table, and what reads it, is in every layer",
				fix: "keep the table data; put what acts on an entry where it acts"},
			{pkg: "abi/fieldpath", on: nothing, libs: stdlibOnly,
				why: "hosts, feeds and the tests of plugins read fields of objects by the same paths",
				fix: "take decoded JSON; read schemas and quantities where they are known"},
			{pkg: "abi/wire", on: "abi/fields abi/fieldpath internal", libs: stdlibOnly,
				why: "the byte layout is shared by hosts, SDKs and fuzzers, and must drag nothing into a guest",
				fix: "take plain slices and integers; convert from Kubernetes objects in runtime/state"},
			{pkg: "abi/wire/generate", on: "abi/wire",
				why: "what it writes is held against a library's reading of JSON Schema, which package wire cannot import",
				fix: "keep what hosts and guests need in abi/wire"},
			{pkg: "abi/schema", on: "abi internal",
				why: "hosts and the SDKs' tests refuse a configuration with the same words",
				fix: "take bytes; read files and YAML in runtime/module"},
			{pkg: "abi/sdk", on: "abi/wire abi/schema", libs: stdlibOnly,
				why: "an import of k8s.io/api costs a guest 15.8 MB and 4 s of compiling",
				fix: "give the author a view over columns instead of an object"},
			{pkg: "abi/conformance", on: "abi/wire", tests: "abi/sdk",
				why: "the TCK runs against any host, not only this one",
				fix: "reach the host through the interface that conformance.Run takes"},
			{pkg: "wasm-examples", on: "abi/sdk",
				why: "an example shows what an author outside this repository can do",
				fix: "use the SDK; a helper that an example misses belongs into the SDK"},

			{pkg: "runtime/internal", on: nothing, tests: "internal", libs: stdlibOnly,
				why: "anything under runtime may import it, so it must not pull anything in",
				fix: "take an interface or a function as argument, or move the code to the layer whose types it needs"},

			{pkg: "runtime/internal/strictyaml", on: "internal",
				why: "configurations, manifests and clusters are read with the same strictness, in one place",
				fix: "return the tree or its JSON, and let the caller give it a meaning"},

			{pkg: "runtime/quantity", on: nothing,
				why: "what reads files and what schedules must turn a quantity into the same number",
				fix: "take quantities and integers"},
			{pkg: "runtime/state", on: "abi/wire runtime/quantity",
				why: "the nouns stand below everything that uses them",
				fix: "define the interface in the package that consumes it"},
			{pkg: "runtime/queue", on: "runtime/state",
				why: "the queue does not know plugins: less-functions, gates and hints are passed in",
				fix: "take a function in the queue's Config and let runtime/scheduler pass it"},
			{pkg: "runtime/cache", on: "runtime/state",
				why: "the cache does not know plugins",
				fix: "take a function in the cache's Config and let runtime/scheduler pass it"},
			{pkg: "runtime/report", on: "abi internal",
				why: "an Attempt is data that every later layer fills in",
				fix: "let the caller write into the Attempt"},
			{pkg: "runtime/plugin", on: "runtime/state",
				why: "extension points are what native, WASM and HTTP plugins have in common",
				fix: "add a small interface to runtime/plugin or runtime/plugin/objects and have it passed in"},
			{pkg: "runtime/equivalence", on: "runtime/plugin",
				why: "what is kept follows from what plugins declare, whatever runs them",
				fix: "declare it in plugin.Info"},
			{pkg: "runtime/pipeline", on: "runtime/equivalence runtime/report",
				why: "the pipeline runs plugins through their interfaces, whatever they are made of",
				fix: "register the plugin in runtime/assembly"},
			{pkg: "hostplugins", on: "runtime/plugin runtime/report", tests: "runtime/equivalence",
				why: "a native plugin has no more power than a sandboxed one",
				fix: "ask for what you need through runtime/plugin or runtime/plugin/objects"},
			{pkg: "runtime/wasm/mirror", on: "runtime/plugin",
				why: "what is written into the memory of a guest does not depend on what runs there",
				fix: "write bytes here; call guests, and judge what they answer, in runtime/wasm"},
			{pkg: "runtime/wasm/encoding", on: nothing,
				why: "what an object is encoded as depends on no plugin",
				fix: "charge for it, and decide who may read it, in runtime/wasm"},
			{pkg: "runtime/wasm/fault", on: "abi internal",
				why: "a fault is data: reports and metrics read it long after the guest is gone",
				fix: "pass texts in; catch traps and read answers in the packages that call guests"},
			{pkg: "runtime/wasm/breaker", on: "runtime/wasm/fault",
				why: "a breaker judges how calls ended, whoever made them",
				fix: "tell it outcomes; ask it before a call in runtime/wasm"},
			{pkg: "runtime/wasm/memory", on: "abi/wire",
				why: "how memory is divided does not depend on what runs or is written there",
				fix: "pass sizes in; measure regions and close instances in runtime/wasm"},
			{pkg: "runtime/wasm/meter", on: "abi/wire",
				why: "the rewriter reads and writes bytes and knows no runtime",
				fix: "pass limits and prices in; run the code in runtime/wasm/sandbox"},
			{pkg: "runtime/wasm/sandbox", on: "runtime/wasm/fault runtime/wasm/memory runtime/wasm/meter",
				why: "a sandbox runs code within limits; it knows neither snapshots nor cycles",
				fix: "answer host functions through sandbox.HostFunctions, from runtime/wasm"},
			{pkg: "runtime/wasm", on: "runtime/wasm/mirror runtime/wasm/encoding runtime/wasm/breaker runtime/wasm/sandbox", tests: "runtime/cache",
				why: "WASM is one way to implement a plugin; nothing else depends on it",
				fix: "pass it in from runtime/assembly"},
			{pkg: "runtime/extender", on: "runtime/plugin",
				why: "an HTTP extender is one way to implement a plugin",
				fix: "pass it in from runtime/assembly"},
			{pkg: "runtime/cycle", on: "runtime/pipeline runtime/extender", tests: "hostplugins",
				why: "a cycle is pure: snapshot and pod in, Decision out; it does not know queue, cache, wasm or kube",
				fix: "return it in the Decision and let runtime/scheduler act on it"},
			{pkg: "runtime/shadow", on: "runtime/cycle",
				why: "a trial repeats decisions and carries nothing out",
				fix: "let the loop call it with what was decided; make its plugins in runtime/assembly"},
			{pkg: "runtime/inbox", on: "runtime/plugin internal",
				why: "what enters the loop is data: it can be written down and read again without a loop",
				fix: "put the value into an event; act on it in runtime/scheduler"},
			{pkg: "runtime/scheduler", on: "runtime/cycle runtime/queue runtime/cache runtime/inbox", tests: "hostplugins",
				why: "the loop alone owns queue, cache and cycle; it runs the same over kube and sim",
				fix: "put an interface beside the loop and implement it in runtime/kube and runtime/sim"},
			{pkg: "runtime/api/v1alpha1", on: "abi/wire internal",
				why: "the kinds of the API are data, which clients in other programs import too",
				fix: "decide what objects mean in runtime/tenancy"},
			{pkg: "runtime/market", on: "abi/wire abi/schema runtime/internal/strictyaml runtime/api/v1alpha1",
				why: "publishing, signing and finding plugins has nothing to do with running them",
				fix: "take the bytes and the manifest of a module as arguments"},
			{pkg: "runtime/module", on: "runtime/market abi/schema runtime/api/v1alpha1",
				why: "fetching and verifying bytes has nothing to do with running them",
				fix: "return the bytes and their digest"},
			{pkg: "runtime/tenancy", on: "runtime/module runtime/state runtime/api/v1alpha1",
				why: "what the objects of the API allow is a function of objects and modules, which a simulation and a cluster share",
				fix: "take what was fetched as an argument; read clusters in runtime/kube, and run plugins in runtime/assembly"},
			{pkg: "runtime/config", on: "runtime/internal/strictyaml runtime/api/v1alpha1 internal",
				why: "configuration is a leaf: it is read once, and parts get their own Config values",
				fix: "translate in runtime/assembly"},
			{pkg: "runtime/telemetry", on: "runtime/report runtime/state",
				why: "metrics are a leaf: they read reports",
				fix: "record it in report.Attempt or pass a function in from cmd/app"},
			{pkg: "runtime/feeds", on: "abi/fieldpath runtime/state runtime/internal/strictyaml internal",
				why: "fetching numbers runs beside the loop: what it brings enters there as an event",
				fix: "pass a function in from cmd/app"},
			{pkg: "runtime/assembly", on: "runtime/scheduler runtime/shadow hostplugins runtime/wasm runtime/module runtime/config",
				why: "assembly is the one place that wires things together",
				fix: "take the part as an argument of assembly's Deps"},

			{pkg: "runtime/tenancy/follow", on: "runtime/assembly runtime/tenancy",
				why: "what objects of the API have a scheduler run does not depend on where they are read",
				fix: "take a small interface; read and write objects in runtime/kube"},
			{pkg: "runtime/record", on: "runtime/inbox",
				why: "a recording is read and written without a scheduler",
				fix: "record an event of runtime/inbox"},
			{pkg: "runtime/replay", on: "runtime/assembly runtime/record",
				why: "a replay is one of the environments that a scheduler runs in, beside runtime/kube and runtime/sim",
				fix: "share through runtime/assembly, never from one environment to the other"},
			{pkg: "deploy/crds", on: nothing, libs: stdlibOnly,
				why: "the schemas are data: a reader of files holds objects against them as the API server does",
				fix: "read the manifests where they are needed"},
			{pkg: "runtime/sim/input", on: "runtime/quantity runtime/internal/strictyaml runtime/api/v1alpha1 abi/schema deploy/crds internal",
				why: "reading files yields objects of the API and nothing else",
				fix: "return v1 objects and let runtime/sim build state from them"},
			{pkg: "runtime/sim", on: "runtime/assembly runtime/sim/input", tests: "runtime/replay abi/sdk",
				why: "the simulator is one of the environments that a scheduler runs in, beside runtime/kube",
				fix: "share through runtime/assembly, never from one environment to the other"},
			{pkg: "runtime/whatif", on: "runtime/sim",
				why: "a question is answered by a simulation, whatever the cluster comes from",
				fix: "pass the objects of the cluster in from cmd/app"},
			{pkg: "runtime/experiment", on: "runtime/sim runtime/record",
				why: "an experiment simulates what a recording says of a cluster",
				fix: "read recordings here, and simulate in runtime/sim"},
			{pkg: "runtime/objectview", on: "abi/wire abi/fieldpath runtime/state runtime/quantity internal",
				why: "what a plugin reads of an object is the same in a cluster and in a simulation",
				fix: "take decoded objects; fetch them in runtime/kube, and read files in runtime/sim/input"},
			{pkg: "runtime/kube/openapi", on: "abi/fieldpath internal",
				why: "what a schema says of a path needs no cluster",
				fix: "take the document; fetch it in runtime/kube"},
			{pkg: "runtime/kube", on: "runtime/scheduler hostplugins runtime/api/v1alpha1 runtime/kube/openapi runtime/objectview runtime/internal/strictyaml",
				why: "a real cluster is one of the environments that a scheduler runs in, beside runtime/sim",
				fix: "share through runtime/scheduler, never from one environment to the other"},

			{pkg: "runtime/console", on: nothing,
				why: "the console is static files, which a browser shows",
				fix: "answer what the pages ask in runtime/debughttp"},
			{pkg: "runtime/debughttp", on: "runtime/report runtime/console",
				why: "the debug pages are a leaf: they show reports and what cmd passes in",
				fix: "pass what they show in from cmd"},

			{pkg: "wasm-examples/internal/hosttest", on: nothing, tests: "wasm-examples runtime/sim",
				why: "the examples are run in the real host by tests apart from them, so that they do not depend on a host",
				fix: "keep tests of examples in the host here, and nothing else"},

			{pkg: "abi/conformance/internal/hosttest", on: nothing, tests: "abi/conformance wasm-examples runtime/assembly",
				why: "the kit is run against the host and the examples by tests apart from it, so that it depends on neither",
				fix: "keep tests of host and examples with the kit here, and nothing else"},

			{pkg: "runtime/wasm/tck", on: nothing, tests: "runtime/wasm runtime/cache runtime/module runtime/objectview abi/conformance",
				why: "the host is held against the conformance kit by tests apart from it, so that it does not depend on the kit",
				fix: "keep what plays the kit's cases here, and nothing else"},

			{pkg: "cmd/app", on: "runtime/whatif runtime/replay runtime/experiment runtime/tenancy/follow runtime/kube runtime/telemetry runtime/debughttp runtime/feeds abi/conformance abi/sdk",
				why: "commands parse flags and print; they stand on everything",
				fix: "use the public packages of runtime"},
			{pkg: "cmd/berth", on: "cmd/app",
				why: "what is in package main cannot be called by programs with plugins of their own",
				fix: "put it into cmd/app"},
			{pkg: ".", on: nothing,
				why: "the folder at the top holds tests of the whole repository only",
				fix: "put code into a package below abi, runtime, hostplugins or cmd"},
		},

		only: []importers{
			{path: "github.com/tetratelabs/wazero", by: "runtime/wasm abi/conformance",
				why: "wazero can be replaced as long as one package speaks to it; the kit's tests run its guests on wazero's interpreter"},
			{path: "k8s.io/client-go", by: "runtime/kube hostplugins/bridge",
				why: "nothing else may talk to an API server; the rest sees small interfaces"},
			{path: module + "/hostplugins/bridge", by: "runtime/kube cmd/app",
				why: "it makes a program larger by all clients and informers of client-go, so that linking its tests takes twice as long; " +
					"take it as assembly.Framework"},
			{path: "github.com/spf13/viper", by: "runtime/config",
				why: "flags, files and environment meet in one place"},
			{path: "github.com/google/jsonschema-go", by: "abi/schema abi/wire/generate runtime/report cmd/app/scaffold",
				why: "it has no bounds on what a stranger's schema costs; tests hold our own validator against it, and explanations against our own schema"},
			{path: "github.com/fsnotify/fsnotify", by: "runtime/module",
				why: "folders are watched in one place"},
			{path: "oras.land/oras-go", by: "runtime/market",
				why: "registries are spoken to in one place"},
			{path: "cuelabs.dev/go/oci/ociregistry", by: "runtime/market/registry",
				why: "a registry is served in one place"},
			{path: "k8s.io/dynamic-resource-allocation/structured", by: "hostplugins/dynamicresources",
				why: "one plugin asks the library which devices a claim gets"},
			{path: "k8s.io/dynamic-resource-allocation/cel", by: "hostplugins/dynamicresources",
				why: "selectors of devices are compiled in one place"},
			{path: "github.com/google/cel-go", by: "hostplugins/dynamicresources",
				why: "what selectors of devices read is known in one place"},
			{path: module + "/runtime/config", by: "runtime/assembly cmd/app",
				why: "parts get their own Config values, so that the simulator needs no files"},
			{path: module + "/runtime/telemetry", by: "cmd/app",
				why: "metrics are wired in once, not called from everywhere"},
			{path: module + "/runtime/debughttp", by: "cmd/app",
				why: "a scheduler runs the same without its debug pages"},
			{path: "k8s.io/kubernetes", by: "",
				why: "it is not made to be imported (every staging module would need a replace); " +
					"use component-helpers or the published staging modules, or test against it in test/"},
		},

		// What any test file may import, also in packages that are otherwise standard library only.
		testLibs: "github.com/google/go-cmp github.com/rogpeppe/go-internal pgregory.net/rapid " + module + "/internal/seeded",

		badNames: "util common types context runtime",
	}
}

func TestLayers(t *testing.T) {
	files := repository(t)
	problems := design().check(files)
	if len(problems) == 0 {
		problems = design().loose(files)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// TestTutorialIsOutside: who follows the README's tutorial in a checkout still has
// passing tests.
func TestTutorialIsOutside(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`(?m)^bin/berth plugin new (\S+) `).FindSubmatch(readme)
	if made == nil || !bytes.HasPrefix(made[1], []byte("../")) {
		t.Errorf("README.md has no line `bin/berth plugin new ../NAME --lang LANGUAGE`: %q. Remedy: have the project made beside the checkout, where the laws do not look", made)
	}
}

// allModules returns every Go file of this module and of those that test it from outside.
func allModules(t *testing.T) []goFile {
	t.Helper()
	files := repository(t)
	for _, module := range []string{"test", "test/market", "test/chart", "test/cosign", "test/skew"} {
		more, err := goFiles(os.DirFS(module))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range more {
			f.path = module + "/" + f.path
			files = append(files, f)
		}
	}
	return files
}

// repository returns every Go file of this module.
func repository(t *testing.T) []goFile {
	t.Helper()
	files, err := goFiles(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no Go files found; the law would check nothing")
	}
	return files
}
