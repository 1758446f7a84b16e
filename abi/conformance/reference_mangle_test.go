package conformance_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/cluster"
	"github.com/berth-scheduler/berth/abi/wire"
)

// mangle makes the mistakes of hosts that are about written data.
func (i *instance) mangle(mem []byte) {
	switch h := i.pl.h; {
	case h.wrong("writes beside the region"):
		i.vm.Memory()[i.base+i.image.Size] = 1
	case h.wrong("writes a wrong magic"):
		mem[i.image.Header]++
	case h.wrong("nothing is requested"):
		if t := i.image.Tables[0]; len(t.Columns) > 4 {
			for _, c := range t.Columns {
				if c.ID == abi.NodeRequested {
					clear(mem[c.Data : c.Data+8*c.Elements])
				}
			}
		}
	case h.wrong("a declared column is not there"):
		if t := i.image.Tables[0]; len(t.Columns) > 3 {
			binary.LittleEndian.PutUint32(mem[t.Entry+abi.TableColumns:], uint32(len(t.Columns)-1))
		}
	case h.wrong("numbers of rows are in big-endian"):
		binary.BigEndian.PutUint32(mem[i.image.Tables[0].Entry+abi.TableRows:], 3)
	case h.wrong("columns have no room"):
		i.entries(mem, func(entry []byte) { clear(entry[abi.ColumnCapacity:abi.ColumnLength]) })
	case h.wrong("keys are counted from 1"):
		i.entries(mem, func(entry []byte) { entry[abi.ColumnArg]++ })
	case h.wrong("spans begin one element later"):
		for _, c := range i.image.Tables[0].Columns {
			for k := c.Data; c.Type == abi.TypeSpan && k < c.Data+8*c.Elements; k += 8 {
				mem[k]++
			}
		}
	case h.wrong("grows the memory"):
		i.vm.Grow(1)
	case h.wrong("slots of pods that are not seen are not empty"):
		i.column(mem, abi.TablePods, abi.PodNamespace, func(element []byte) { element[0] |= 1 })
	case h.wrong("the string of id 0 is not empty"):
		binary.LittleEndian.PutUint32(mem[i.first(abi.TableStrings, abi.StringBytes)+4:], 1)
	case h.wrong("a value that is stale is fresh"):
		i.elements(mem, abi.TableNodes, abi.NodeFeedState, 1, func(element []byte) { element[0] = min(element[0], 1) })
	case h.wrong("no pod is newer than a sample"):
		i.elements(mem, abi.TableNodes, abi.NodeRequestedSince, 8, func(element []byte) { clear(element) })
	case h.wrong("no pod is nominated"):
		i.elements(mem, abi.TableNodes, abi.NodeNominated, 8, func(element []byte) { clear(element) })
	case h.wrong("objects say nothing"):
		i.elements(mem, abi.TableNodes, abi.NodeObjectNumbers, 8, func(element []byte) { clear(element) })
		i.elements(mem, abi.TableNamespaces, abi.NamespaceObjectNumbers, 8, func(element []byte) { clear(element) })
	case h.wrong("no pod counts in its namespace"):
		i.elements(mem, abi.TableNamespaces, abi.NamespaceRequested, 8, func(element []byte) { clear(element) })
	case h.wrong("namespaces have no names"):
		i.column(mem, abi.TableNamespaces, abi.NamespaceName, func(element []byte) { clear(element) })
	}
}

// first returns where a column begins, at the end of the region if there is none.
func (i *instance) first(table abi.TableID, column abi.ColumnID) uint32 {
	for _, t := range i.image.Tables {
		for _, c := range t.Columns {
			if t.ID == table && c.ID == column {
				return c.Data
			}
		}
	}
	return i.image.Size - 8
}

// column calls f for each element of a column of ids.
func (i *instance) column(mem []byte, table abi.TableID, column abi.ColumnID, f func(element []byte)) {
	i.elements(mem, table, column, 4, f)
}

// elements calls f for each element of a column, with the size of one.
func (i *instance) elements(mem []byte, table abi.TableID, column abi.ColumnID, size uint32, f func(element []byte)) {
	for _, t := range i.image.Tables {
		for _, c := range t.Columns {
			for k := c.Data; t.ID == table && c.ID == column && k < c.Data+size*c.Elements; k += size {
				f(mem[k : k+size])
			}
		}
	}
}

// manifest reads the manifest of a module.
func (h *reference) manifest(m *wire.Module, name string) (*wire.Manifest, error) {
	found := m.Custom(abi.ManifestSection)
	switch {
	case h.wrong("takes the last of two manifests") && len(found) == 2:
		return wire.DecodeManifest(found[1])
	case h.wrong("ignores unknown fields of a manifest") && len(found) == 1:
		return wire.DecodeManifest(bytes.Replace(found[0], []byte(`"pionts":{}`), []byte(`"events":[]`), 1))
	}
	return wire.ReadManifest(m, name)
}

// entries calls f for each entry of the nodes' column directory.
func (i *instance) entries(mem []byte, f func(entry []byte)) {
	t := i.image.Tables[0]
	at := binary.LittleEndian.Uint32(mem[t.Entry+abi.TableColumnsAddr:]) - i.base
	for range t.Columns {
		f(mem[at : at+abi.ColumnSize])
		at += abi.ColumnSize
	}
}

// garble makes the mistakes of hosts that are about the record of the pod to be placed.
func (i *instance) garble(record []byte) {
	of := func(id abi.ColumnID) []byte {
		for k := abi.PodHeaderSize; len(record) > 0 && k < abi.PodHeaderSize+16*int(binary.LittleEndian.Uint32(record)); k += 16 {
			if abi.ColumnID(binary.LittleEndian.Uint32(record[k:])) == id && binary.LittleEndian.Uint32(record[k+12:]) > 0 {
				return record[binary.LittleEndian.Uint32(record[k+8:]):]
			}
		}
		return make([]byte, 24)
	}
	switch h := i.pl.h; {
	case h.wrong("the record says that it is larger") && len(record) > 0:
		record[4]++
	case h.wrong("empty fields are not there"):
		for k := abi.PodHeaderSize; len(record) > 0 && k < abi.PodHeaderSize+16*int(binary.LittleEndian.Uint32(record)); k += 16 {
			if binary.LittleEndian.Uint32(record[k+12:]) == 0 {
				binary.LittleEndian.PutUint32(record[k:], 100)
			}
		}
	case h.wrong("operators of requirements are counted from 0"):
		of(abi.PodRequirements)[4]--
	case h.wrong("containers are counted from the first again"):
		for c := of(abi.IncomingContainers); len(c) >= 16; c = c[16:] {
			if binary.LittleEndian.Uint32(c[12:]) > 0 {
				binary.LittleEndian.PutUint32(c[12:], 0)
				return
			}
		}
	case h.wrong("the time does not move in steps"):
		of(abi.IncomingNow)[0]++
	case h.wrong("terms do not say that they have fields"):
		for term := of(abi.PodRequiredTerms); len(term) >= 32; term = term[16:] {
			if term[12] == 2 {
				term[12] = 0
				return
			}
		}
	}
}

// lighter makes the mistakes of hosts that are about what pods request and may use.
func (c *cycle) lighter(r *request) (*cycle, *request) {
	change := func(p *cluster.Pod) { p.Spec.Overhead = nil }
	switch h := c.p.h; {
	case h.wrong("init containers are not counted"):
		change = func(p *cluster.Pod) { p.Spec.InitContainers = nil }
	case h.wrong("sidecars end before containers start"):
		change = func(p *cluster.Pod) {
			p.Spec.InitContainers = slices.Clone(p.Spec.InitContainers)
			for i := range p.Spec.InitContainers {
				p.Spec.InitContainers[i].RestartPolicy = ""
			}
		}
	case h.wrong("overhead is not counted"):
	case h.wrong("a container without a limit may use nothing"):
		change = func(p *cluster.Pod) {
			p.Spec.Containers = slices.Clone(p.Spec.Containers)
			for i := range p.Spec.Containers {
				limits := map[string]cluster.Quantity{"cpu": "0", "memory": "0"}
				maps.Copy(limits, p.Spec.Containers[i].Resources.Limits)
				p.Spec.Containers[i].Resources.Limits = limits
			}
		}
	case h.wrong("the QoS class of the status is not looked at"):
		change = func(p *cluster.Pod) { p.Status.QOS = "" }
	default:
		return c, r
	}
	own, asked, all := *c, *r, *r.cluster
	if own.pod != nil {
		pod := *own.pod
		own.pod = &pod
		change(own.pod)
	}
	all.Pods = slices.Clone(all.Pods)
	for i := range all.Pods {
		change(&all.Pods[i])
	}
	asked.cluster = &all
	return &own, &asked
}
