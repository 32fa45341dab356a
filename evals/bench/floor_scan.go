package main

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanCodec reads the needed parts of a response in one walk. It assumes valid
// JSON.
type scanCodec struct{}

var errScan = errors.New("the response ends too early")

func (scanCodec) decode(data []byte, m *floorMessage) (err error) {
	defer func() {
		if recover() != nil { // an index out of range, or skipString's
			err = errScan
		}
	}()
	members(data, 0, func(key []byte, i int) int {
		switch string(key) {
		case "id":
			end := skip(data, i)
			m.ID, _ = strconv.ParseInt(string(data[i:end]), 10, 64)
			return end
		case "result":
			return scanResult(data, i, &m.Result)
		case "error":
			end := skip(data, i)
			m.Error = &floorError{Message: string(data[i:end])}
			return end
		}
		return skip(data, i)
	})
	return nil
}

func scanResult(data []byte, i int, r *floorResult) int {
	return members(data, i, func(key []byte, i int) int {
		switch string(key) {
		case "content":
			return elements(data, i, func(i int) int {
				r.Content = append(r.Content, floorBlock{})
				b := &r.Content[len(r.Content)-1]
				return members(data, i, func(key []byte, i int) int {
					if string(key) == "text" {
						return scanString(data, i, &b.Text)
					}
					return skip(data, i)
				})
			})
		case "tools":
			return elements(data, i, func(i int) int {
				r.Tools = append(r.Tools, floorTool{})
				return scanTool(data, i, &r.Tools[len(r.Tools)-1])
			})
		case "isError":
			r.IsError = data[i] == 't'
		case "nextCursor":
			return scanString(data, i, &r.NextCursor)
		}
		return skip(data, i)
	})
}

func scanTool(data []byte, i int, t *floorTool) int {
	return members(data, i, func(key []byte, i int) int {
		switch string(key) {
		case "name":
			return scanString(data, i, &t.Name)
		case "title":
			return scanString(data, i, &t.Title)
		case "description":
			return scanString(data, i, &t.Description)
		case "inputSchema":
			end := skip(data, i)
			t.InputSchema = bytes.Clone(data[i:end])
			return end
		case "outputSchema":
			end := skip(data, i)
			t.OutputSchema = bytes.Clone(data[i:end])
			return end
		}
		return skip(data, i)
	})
}

// members calls f with each key of the object at i and the place of its value;
// f returns the end of the value, members the end of the object.
func members(data []byte, i int, f func(key []byte, i int) int) int {
	for i = blank(data, i+1); data[i] != '}'; {
		if data[i] == ',' {
			i = blank(data, i+1)
			continue
		}
		end := skip(data, i)
		value := blank(data, blank(data, end)+1) // behind the colon
		i = blank(data, f(data[i+1:end-1], value))
	}
	return i + 1
}

// elements does the same for an array.
func elements(data []byte, i int, f func(i int) int) int {
	for i = blank(data, i+1); data[i] != ']'; i = blank(data, i) {
		if data[i] == ',' {
			i = blank(data, i+1)
		}
		i = f(i)
	}
	return i + 1
}

func blank(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t' {
		i++
	}
	return i
}

// skip returns the end of the value at i.
func skip(data []byte, i int) int {
	for depth := 0; ; {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			i++
			if depth == 0 {
				for data[i] > ' ' && data[i] != ',' && data[i] != '}' && data[i] != ']' {
					i++
				}
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// skipString returns the end of the string at i.
func skipString(data []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			panic(errScan)
		}
		escapes := 0
		for data[i+n-1-escapes] == '\\' {
			escapes++
		}
		if i += n + 1; escapes%2 == 0 {
			return i
		}
	}
}

// scanString reads the string at i and returns its end.
func scanString(data []byte, i int, s *string) int {
	end := skipString(data, i)
	raw := data[i+1 : end-1]
	n := bytes.IndexByte(raw, '\\')
	if n < 0 {
		*s = string(raw)
		return end
	}
	var b strings.Builder
	for b.Grow(len(raw)); n >= 0; n = bytes.IndexByte(raw, '\\') {
		b.Write(raw[:n])
		raw = unescape(&b, raw[n+1:])
	}
	b.Write(raw)
	*s = b.String()
	return end
}

// unescape writes the text of an escape, and returns the rest.
func unescape(b *strings.Builder, raw []byte) []byte {
	switch c := raw[0]; c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'u':
		r := hex(raw[1:5])
		if utf16.IsSurrogate(r) && len(raw) >= 11 && raw[5] == '\\' && raw[6] == 'u' {
			if both := utf16.DecodeRune(r, hex(raw[7:11])); both != utf8.RuneError {
				b.WriteRune(both)
				return raw[11:]
			}
		}
		b.WriteRune(r)
		return raw[5:]
	default:
		b.WriteByte(c)
	}
	return raw[1:]
}

func hex(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits), 16, 16)
	return rune(n)
}
