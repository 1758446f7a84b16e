package gpushare

import (
	"slices"
	"strings"

	berth "github.com/berth-scheduler/berth/abi/sdk/go"
)

// wishes are what is read of a pod.
type wishes struct {
	gpu, memory, percent, cores    berth.Resource
	gpuPolicy, nodePolicy          berth.PodAnnotation
	kinds, noKinds, uuids, noUUIDs berth.PodAnnotation
	numa, mode                     berth.PodAnnotation
}

func newWishes(b *berth.Base) wishes {
	return wishes{
		gpu: b.Resource("nvidia.com/gpu"), memory: b.Resource("nvidia.com/gpumem"), percent: b.Resource("nvidia.com/gpumem-percentage"),
		cores: b.Resource("nvidia.com/gpucores"), gpuPolicy: b.PodAnnotation("hami.io/gpu-scheduler-policy"),
		nodePolicy: b.PodAnnotation("hami.io/node-scheduler-policy"),
		kinds:      b.PodAnnotation("nvidia.com/use-gputype"), noKinds: b.PodAnnotation("nvidia.com/nouse-gputype"),
		uuids: b.PodAnnotation("nvidia.com/use-gpuuuid"), noUUIDs: b.PodAnnotation("nvidia.com/nouse-gpuuuid"),
		numa: b.PodAnnotation("nvidia.com/numa-bind"), mode: b.PodAnnotation("nvidia.com/vgpu-mode"),
	}
}

// request is what a container needs: a number of GPUs, and of each its memory in MiB (in percent if that is 0) and its cores in percent.
type request struct {
	gpus, memory, percent, cores int64
	init                         bool // it ends before the others start
}

// demand is what a pod needs.
type demand struct {
	requests                       []request // by container
	kinds, noKinds, uuids, noUUIDs []string
	nodePolicy, gpuPolicy, mode    string
	numa                           bool // all GPUs of a container are of one NUMA node
}

// need says what a pod needs at all.
type need int

const (
	nothing need = iota
	needs
	impossible
)

// most bounds amounts, as HAMi's 32 bits do.
const most = 1<<31 - 1

// read sets p.pod.
func (p *GPUShare) read(pod berth.Pod) need {
	d, out := &p.pod, nothing
	d.requests = d.requests[:0]
	for _, c := range pod.Containers() {
		amount := func(r berth.Resource) int64 {
			if limit := pod.ContainerLimit(c, r); limit >= 0 {
				return limit
			}
			return pod.ContainerRequest(c, r)
		}
		r := request{gpus: amount(p.wishes.gpu), init: c.Kind == berth.InitContainer}
		if r.gpus > 0 {
			r.memory, r.percent, r.cores = amount(p.wishes.memory), min(amount(p.wishes.percent), 100), min(amount(p.wishes.cores), 100)
			if r.gpus > most || r.memory < 0 || r.memory > most || r.cores < 0 {
				return impossible
			}
			if r.percent <= 0 {
				r.percent = 100
			}
			out = needs
		}
		d.requests = append(d.requests, r)
	}
	if out == nothing {
		return nothing
	}
	text := func(a berth.PodAnnotation) string { return p.Text(pod.Annotation(a)) }
	d.kinds, d.noKinds = words(upper(text(p.wishes.kinds))), words(upper(text(p.wishes.noKinds)))
	d.uuids, d.noUUIDs = words(text(p.wishes.uuids)), words(text(p.wishes.noUUIDs))
	d.nodePolicy, d.gpuPolicy, d.mode = text(p.wishes.nodePolicy), text(p.wishes.gpuPolicy), text(p.wishes.mode)
	numa := upper(text(p.wishes.numa))
	d.numa = numa == "1" || numa == "T" || numa == "TRUE"
	return needs
}

// spreads reports whether the pod goes to nodes whose GPUs are used little.
func (d *demand) spreads(otherwise bool) bool {
	if d.nodePolicy == "" {
		return otherwise
	}
	return d.nodePolicy == "spread"
}

// packs reports whether the pod gets the GPUs that are used most.
func (d *demand) packs(otherwise bool) bool {
	if d.gpuPolicy == "" {
		return otherwise
	}
	return d.gpuPolicy == "binpack"
}

// suits reports whether the pod may use the GPU at all.
func (d *demand) suits(g *gpu) bool {
	if !g.healthy || g.mode == "mig" || d.mode != "" && !strings.Contains(d.mode, g.mode) {
		return false
	}
	if len(d.kinds)+len(d.noKinds) > 0 {
		of := upper(g.kind)
		if len(d.kinds) > 0 && !anyWithin(d.kinds, of) || anyWithin(d.noKinds, of) {
			return false
		}
	}
	return (len(d.uuids) == 0 || slices.Contains(d.uuids, g.uuid)) && !slices.Contains(d.noUUIDs, g.uuid)
}

func anyWithin(words []string, text string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// upper has letters from a to z in upper case, as all types of GPUs are spelt; package unicode would make the module larger.
func upper(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'a' <= c && c <= 'z' {
			out[i] = c - ('a' - 'A')
		}
	}
	return string(out)
}

// words splits at commas, and leaves out what is empty.
func words(text string) (out []string) {
	for text != "" {
		var word string
		word, text = cut(text, ',')
		for word != "" && word[0] == ' ' {
			word = word[1:]
		}
		for word != "" && word[len(word)-1] == ' ' {
			word = word[:len(word)-1]
		}
		if word != "" {
			out = append(out, word)
		}
	}
	return out
}
