package gpushare

// place sets p.out to what the pod gets of p.gpus; false if it does not fit.
func (p *GPUShare) place() bool {
	p.out = p.out[:0]
	for i := range p.pod.requests {
		r := &p.pod.requests[i]
		if r.gpus == 0 {
			continue
		}
		if r.init {
			p.kept = append(p.kept[:0], p.gpus...)
		}
		if !p.give(i, r) {
			return false
		}
		if r.init {
			p.gpus = append(p.gpus[:0], p.kept...)
		}
	}
	return true
}

// give has a container get its GPUs: of the whole node or, if the pod wants that, of the first NUMA node that has enough.
func (p *GPUShare) give(container int, r *request) bool {
	if r.gpus > int64(len(p.gpus)) {
		return false
	}
	if !p.pod.numa {
		return p.giveOf(container, r, nil)
	}
	for i := range p.gpus {
		if numa := p.gpus[i].numa; p.giveOf(container, r, &numa) {
			return true
		}
	}
	return false
}

func (p *GPUShare) giveOf(container int, r *request, numa *int64) bool {
	before := len(p.out)
	for range r.gpus {
		best, score := -1, 0.0
		for i := range p.gpus {
			g := &p.gpus[i]
			if numa != nil && g.numa != *numa || p.given(before, g.uuid) || !p.fits(g, r) {
				continue
			}
			s := g.usedWith(r)
			if !p.pod.packs(p.packGPUs) {
				s = -s
			}
			// Of equal ones, HAMi takes the one of the last NUMA node, and of these the last one.
			if best < 0 || s > score || s == score && g.numa >= p.gpus[best].numa {
				best, score = i, s
			}
		}
		if best < 0 {
			p.out = p.out[:before]
			return false
		}
		g := &p.gpus[best]
		p.out = append(p.out, portion{container: container, uuid: g.uuid, memory: r.memoryOf(g), cores: r.cores})
	}
	for _, of := range p.out[before:] {
		p.use(of.uuid, of.memory, of.cores)
	}
	return true
}

// given reports whether a GPU is among those that the container gets.
func (p *GPUShare) given(before int, uuid string) bool {
	for i := range p.out[before:] {
		if p.out[before+i].uuid == uuid {
			return true
		}
	}
	return false
}

// memoryOf is what the container needs of the GPU's memory, in MiB.
func (r *request) memoryOf(g *gpu) int64 {
	if r.memory > 0 {
		return r.memory
	}
	return g.memory * r.percent / 100
}

// fits reports whether the GPU suits the pod, and has enough left for the container.
func (p *GPUShare) fits(g *gpu, r *request) bool {
	switch {
	case g.shares >= g.count, p.pod.gpuPolicy == "mutex" && g.shares > 0:
		return false
	case g.memory-g.usedMemory < r.memoryOf(g), g.cores-g.usedCores < r.cores:
		return false
	case g.cores == 100 && r.cores == 100 && g.shares > 0: // the container wants the GPU for itself
		return false
	case g.cores != 0 && g.usedCores == g.cores && r.cores == 0: // no cores are left to share
		return false
	}
	return p.pod.suits(g)
}

// usedWith is how much of the GPU is used with the container: the sum of the parts of its shares, cores and memory.
func (g *gpu) usedWith(r *request) float64 {
	if g.count == 0 || g.cores == 0 || g.memory == 0 {
		return 0
	}
	return float64(g.shares+1)/float64(g.count) + float64(g.usedCores+r.cores)/float64(g.cores) +
		float64(g.usedMemory+r.memoryOf(g))/float64(g.memory)
}
