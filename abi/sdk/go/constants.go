package berth

// Const is a constant string whose id is available in every call.
type Const struct{ e *constant }

type constant struct {
	text string
	id   ID
}

// ID returns the string's id in this call; Absent if neither the snapshot nor the pod has the
// string. Compare with care: Absent is also the id of a missing label, see Is.
func (c Const) ID() ID { return c.e.id }

// Is reports whether an id is that of the constant. Absent never is.
func (c Const) Is(id ID) bool { return id == c.e.id && id != Absent }

// Text returns the string.
func (c Const) Text() string { return c.e.text }

// constants resolves strings to ids. Within an epoch the dictionary only grows, so a call scans
// only the strings that are new since the last call.
type constants struct {
	byText  map[string]*constant
	lengths uint64 // bit n: there is a constant of n bytes; bit 63: or more
	scanned uint32
	epoch   uint64
}

func (c *constants) add(text string) Const {
	e, ok := c.byText[text]
	if !ok {
		if c.byText == nil {
			c.byText = map[string]*constant{}
		}
		e = &constant{text: text}
		c.byText[text] = e
		c.lengths |= 1 << min(len(text), 63)
		c.scanned = 0 // scan all strings again
	}
	return Const{e}
}

// resolve scans the new strings.
func (c *constants) resolve(cols *columns) {
	if c.lengths == 0 || cols.strings == nil {
		return
	}
	rows := cols.strings.rows
	if c.epoch != cols.header.epoch || rows < c.scanned {
		for _, e := range c.byText {
			e.id = Absent
		}
		c.scanned, c.epoch = 0, cols.header.epoch
	}
	for id := max(c.scanned, 1); id < rows; id++ {
		if c.lengths>>min(cols.texts[id].length, 63)&1 == 0 {
			continue
		}
		if e, ok := c.byText[str(of(cols.texts, cols.textBytes, id))]; ok {
			e.id = ID(id)
		}
	}
	c.scanned = rows
}
