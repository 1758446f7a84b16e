package input

import "bytes"

// cutList finds the items of a block list at the top level, `items:` followed by lines that
// begin with a dash, so that a dump of a large cluster is decoded item by item: 10,000 pods
// take 125 MB of heap, and 300 MB as one tree (go test -bench BenchmarkLoad). ok is false if
// the document has no such list; then it is decoded as a whole.
func cutList(c chunk) (head []byte, items []chunk, ok bool) {
	at := itemsKey(c.text)
	if at < 0 || hasAliases(c.text) {
		return nil, nil, false
	}
	pos := lineEnd(c.text, at)
	line := c.line + bytes.Count(c.text[:pos], []byte("\n"))
	indent, start := -1, 0
	end := func(pos int) {
		if len(items) > 0 {
			items[len(items)-1].text = c.text[start:pos]
		}
	}
	for pos < len(c.text) {
		next := lineEnd(c.text, pos)
		column, first := indentation(c.text[pos:next])
		switch {
		case first == "" || first == "#":
			// blank lines and comments stay where they are
		case indent < 0 && first != "-":
			return nil, nil, false
		case indent < 0, column == indent && first == "-":
			end(pos)
			indent, start = column, pos
			items = append(items, chunk{file: c.file, line: line, whole: &c, namespace: c.namespace})
		case column <= indent:
			// the list has ended: the rest of the header follows
			end(pos)
			return append(append(head, c.text[:at]...), c.text[pos:]...), items, true
		}
		line++
		pos = next
	}
	end(pos)
	return c.text[:at], items, len(items) > 0
}

// itemsKey returns the position of a line that is just "items:", or −1.
func itemsKey(text []byte) int {
	key := []byte("items:")
	for pos := 0; ; {
		i := bytes.Index(text[pos:], key)
		if i < 0 {
			return -1
		}
		at := pos + i
		pos = at + len(key)
		if (at == 0 || text[at-1] == '\n') && len(bytes.TrimSpace(text[pos:lineEnd(text, pos)])) == 0 {
			return at
		}
	}
}

// indentation returns the number of leading blanks of a line and its first character: "-" for a
// list item, "#" for a comment, "x" for others, "" for a blank line.
func indentation(line []byte) (column int, first string) {
	line = bytes.TrimRight(line, " \t\r\n")
	rest := bytes.TrimLeft(line, " ")
	column = len(line) - len(rest)
	switch {
	case len(rest) == 0:
		return column, ""
	case rest[0] == '#':
		return column, "#"
	case rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t'):
		return column, "-"
	}
	return column, "x"
}

// hasAliases reports whether there may be an anchor or an alias. Such a list is not cut,
// because an item could refer to another. Commands and patterns are full of both characters, so
// they count only where a value may begin, and before a name.
func hasAliases(text []byte) bool {
	for pos := 0; pos < len(text); pos++ {
		i := bytes.IndexAny(text[pos:], "&*")
		if i < 0 {
			return false
		}
		pos += i
		if pos+1 < len(text) && isWord(text[pos+1]) && beginsValue(text[:pos]) {
			return true
		}
	}
	return false
}

func isWord(b byte) bool {
	return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// beginsValue reports whether a value may follow this text: at the beginning of a line, after a
// character that opens a value, or after a tag.
func beginsValue(text []byte) bool {
	word := bytes.TrimRight(text, " \t")
	if len(word) == 0 || bytes.IndexByte([]byte("\r\n:-[,{?"), word[len(word)-1]) >= 0 {
		return true
	}
	word = word[bytes.LastIndexAny(word, " \t\r\n[,{")+1:]
	return len(word) > 0 && word[0] == '!'
}
