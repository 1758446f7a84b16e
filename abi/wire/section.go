package wire

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// AppendCustomSection returns a copy of module with a custom section at its end. It fails if
// the module already has a section with this name, because there must be exactly one manifest
// (ABI-1.5).
func AppendCustomSection(module []byte, name string, payload []byte) ([]byte, error) {
	if len(name) > maxModuleName {
		return nil, &ModuleError{Section: "custom", Detail: "the name of a section has at most " + strconv.Itoa(maxModuleName) + " bytes"}
	}
	err := eachSection(module, func(s Section, r *moduleReader) {
		if s.ID == sectionCustom && r.name() == name {
			r.fail(s.Offset, "there is already a section "+quoted(name), "remove it first")
		}
	})
	if err != nil {
		return nil, err
	}
	body := binary.AppendUvarint(nil, uint64(len(name)))
	body = append(body, name...)
	out := make([]byte, 0, len(module)+len(body)+len(payload)+6)
	out = append(out, module...)
	out = append(out, sectionCustom)
	out = binary.AppendUvarint(out, uint64(len(body)+len(payload)))
	out = append(out, body...)
	out = append(out, payload...)
	if len(out) > MaxModuleSize {
		return nil, &ModuleError{Detail: strconv.Itoa(len(out)) + " bytes with the section, at most " + strconv.Itoa(MaxModuleSize) + " are allowed"}
	}
	return out, nil
}

// RemoveCustomSection returns a copy of module without the custom sections with a name, and how
// many there were.
func RemoveCustomSection(module []byte, name string) (out []byte, removed int, err error) {
	start := 0 // of what is kept next
	end := 8   // of the previous section
	err = eachSection(module, func(s Section, r *moduleReader) {
		if s.ID == sectionCustom && r.name() == name && r.err == nil {
			out = append(out, module[start:end]...)
			start = s.Offset + s.Size
			removed++
		}
		end = s.Offset + s.Size
	})
	if err != nil {
		return nil, 0, err
	}
	return slices.Concat(out, module[start:]), removed, nil
}
