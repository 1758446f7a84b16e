package gpushare

import "strings"

// A call looks at up to 1,024 nodes. A tree of values for the JSON of each of them would take three times the fuel of these loops over bytes.

// registered returns the GPUs of a list in JSON; none if the text is none.
func registered(text string) (out []gpu) {
	n := len(text)
	var g gpu
	inside := false
	for i := 1; i < n; {
		switch c := text[i]; c {
		case '{':
			if inside {
				return nil
			}
			g, inside = gpu{}, true
			i++
		case '}':
			if !inside {
				return nil
			}
			out, inside = append(out, g), false
			i++
		case ']':
			if inside || i != n-1 {
				return nil
			}
			return out
		case ',', ' ', '\n', '\t', '\r':
			i++
		case '"':
			key := i + 1
			for i = key; i < n && text[i] != '"'; {
				i++
			}
			keyEnd := i
			i++
			for i < n && (text[i] == ' ' || text[i] == ':') {
				i++
			}
			if i >= n || !inside {
				return nil
			}
			from, to, next := value(text, i)
			if next < 0 {
				return nil
			}
			g.set(text[key:keyEnd], text[from:to])
			i = next
		default:
			return nil
		}
	}
	return nil
}

// registeredAsText returns those of a text of older versions of HAMi, `UUID,count,memory,cores,type,numa,health,index,mode:`.
func registeredAsText(text string) (out []gpu) {
	for text != "" {
		var one string
		if one, text = cut(text, ':'); one == "" {
			continue
		}
		var f [9]string
		n := 0
		for ; one != "" && n < len(f); n++ {
			f[n], one = cut(one, ',')
		}
		if one != "" || n != 7 && n != 9 {
			return nil
		}
		g := gpu{
			uuid: f[0], count: number(f[1]), memory: number(f[2]), cores: number(f[3]), kind: f[4], numa: number(f[5]),
			healthy: f[6] == "true", mode: "hami-core",
		}
		if n == 9 {
			g.mode = f[8]
		}
		out = append(out, g)
	}
	return out
}

// value returns where the value that begins at i begins and ends, without the quotes of a string, and what comes after it; −1 if it has no
// end, or an escape, which HAMi does not write.
func value(text string, i int) (from, to, next int) {
	n := len(text)
	switch text[i] {
	case '"':
		from = i + 1
		for i = from; i < n && text[i] != '"'; i++ {
			if text[i] == '\\' {
				return 0, 0, -1
			}
		}
		if i >= n {
			return 0, 0, -1
		}
		return from, i, i + 1
	case '[', '{':
		from = i
		for depth := 0; i < n; i++ {
			switch text[i] {
			case '[', '{':
				depth++
			case ']', '}':
				if depth--; depth == 0 {
					return from, i + 1, i + 1
				}
			}
		}
		return 0, 0, -1
	}
	from = i
	for i < n && text[i] != ',' && text[i] != '}' && text[i] != ' ' {
		i++
	}
	return from, i, i
}

// set sets a field.
func (g *gpu) set(key, value string) {
	switch key {
	case "id":
		g.uuid = value
	case "type":
		g.kind = value
	case "mode":
		g.mode = value
	case "health":
		g.healthy = value == "true"
	case "count":
		g.count = number(value)
	case "devmem":
		g.memory = number(value)
	case "devcore":
		g.cores = number(value)
	case "numa":
		g.numa = number(value)
	}
}

// useAll adds what a pod has: for each container GPUs as `UUID,type,memory,cores:`, and a semicolon.
func (p *GPUShare) useAll(text string) {
	for text != "" {
		var one, memory string
		one, text = cut(text, ':')
		for one != "" && one[0] == ';' {
			one = one[1:]
		}
		uuid, rest := cut(one, ',')
		_, rest = cut(rest, ',')
		if memory, rest = cut(rest, ','); rest != "" {
			cores, _ := cut(rest, ',')
			p.use(uuid, number(memory), number(cores))
		}
	}
}

// cut returns what comes before the separator, and what comes after it.
func cut(text string, separator byte) (before, after string) {
	if i := strings.IndexByte(text, separator); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// number reads an amount of at most 10 digits, bounded as HAMi's 32 bits are; 0 if it is none.
func number(text string) int64 {
	if len(text) == 0 || len(text) > 10 {
		return 0
	}
	n := int64(0)
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0
		}
		n = 10*n + int64(c)
	}
	return min(n, most)
}
