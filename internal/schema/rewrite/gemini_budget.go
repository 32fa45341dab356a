package rewrite

import "encoding/json"

// maxWritten bounds the names, texts and values of a result, in bytes: four times
// what a schema that is read may have. References can multiply them.
const maxWritten = 4 << 20

// maxChanges bounds the changes that are listed one by one. Of the others there is
// one for each keyword and effect.
const maxChanges = 5_000

// change is what is told of changes beyond maxChanges.
type change struct {
	keyword string
	effect  Effect
}

// note records a change.
func (g *geminiWriter) note(at, keyword string, effect Effect, text string) {
	g.charge(len(text))
	if len(g.changes) < maxChanges {
		g.writer.note(at, keyword, effect, text)
		return
	}
	c := change{keyword, effect}
	if g.unlisted[c] {
		return
	}
	if g.unlisted == nil {
		g.unlisted = map[change]bool{}
	}
	g.unlisted[c] = true
	g.writer.note(at, keyword, effect, text+"; and more of this kind")
}

// spend takes steps from what is allowed for what is written. Where there are not
// enough, what is written is too large.
func (g *geminiWriter) spend(n int) bool {
	if g.writes.spend(n) {
		return true
	}
	g.left = -1
	return false
}

// charge takes bytes from what may be written. Where there are not enough, what
// is written is too large.
func (g *geminiWriter) charge(n int) bool {
	if g.bytes.spend(n) {
		return true
	}
	g.left = -1
	return false
}

// full reports whether there is no room for another byte.
func (g *geminiWriter) full() bool { return g.bytes == 0 }

// affords charges what a subschema that was written says itself, without those
// that it holds.
func (g *geminiWriter) affords(out map[string]any) bool {
	n := 16
	for key, v := range out {
		switch key {
		case "items", "anyOf":
		case "properties":
			for name := range object(v) {
				n += len(name) + 4
			}
		default:
			n += len(key) + sizeOf(v)
		}
	}
	return g.charge(n)
}

// sizeOf is about how many bytes a value has as JSON.
func sizeOf(v any) int {
	n := 4
	switch v := v.(type) {
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case map[string]any:
		for name, member := range v {
			n += len(name) + sizeOf(member)
		}
	}
	return n
}

// breadth is what a subschema costs to be merged, in steps.
func breadth(s map[string]any) int {
	return 1 + len(s) + len(object(s["properties"])) + len(list(s["required"])) + len(list(s["enum"])) + len(list(s["allOf"]))
}
