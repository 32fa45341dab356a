package frontmatter

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		want           map[string]any
		body           string
	}{
		{"plain", "---\nname: pdf\ndescription: Extract, fill: no\n---\n\nBody\n", nil, ""},
		{"kinds", "---\nname: \"p: q\"\ndescription: >\n  two\n  lines\nn: 3\nf: 1.5\nb: true\nz: null\nlist: [a, b]\nmetadata:\n  x: y\n---\nB", map[string]any{
			"name": "p: q", "description": "two lines\n", "n": 3.0, "f": 1.5, "b": true, "z": nil,
			"list": []any{"a", "b"}, "metadata": map[string]any{"x": "y"},
		}, "B"},
		{"carriage returns", "\uFEFF---\r\nname: pdf\r\n---\r\nB", map[string]any{"name": "pdf"}, "B"},
		{"nothing after it", "---\nname: pdf\n---", map[string]any{"name": "pdf"}, ""},
		{"date", "---\nd: 2026-01-02\n---\n", map[string]any{"d": "2026-01-02"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fields, body, err := Parse([]byte(tt.document))
			if tt.want == nil {
				check.Fails(t, err)
				return
			}
			check.NoError(t, err)
			check.Same(t, "fields", fields, tt.want)
			check.Equal(t, "body", string(body), tt.body)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ document, want string }{
		"empty":            {"", "the first line"},
		"no fence":         {"name: pdf\n---\n", "the first line"},
		"no end":           {"---\nname: pdf\n", "no line"},
		"too long":         {"---\nname: " + strings.Repeat("x", MaxSize) + "\n---\n", "more than 16384 bytes"},
		"too long, no end": {"---\n" + strings.Repeat("a: b\n", MaxSize), "more than 16384 bytes"},
		"a list":           {"---\n- a\n---\n", "want a mapping"},
		"nothing":          {"---\n---\n", "want one YAML mapping"},
		"broken":           {"---\na: [\n---\n", "not YAML"},
		"twice":            {"---\na: 1\na: 2\n---\n", "not YAML"},
		"alias":            {"---\na: &x [1]\nb: *x\n---\n", "line 1: anchors"},
		"merge":            {"---\na:\n  <<: {b: 1}\n---\n", "line 2: anchors"},
		"tag":              {"---\na: !!binary eA==\n---\n", "line 1: anchors"},
		"not a number":     {"---\na: .nan\n---\n", "no JSON"},
	} {
		_, _, err := Parse([]byte(tt.document))
		check.Text(t, err, tt.want, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("---\nname: pdf\nmetadata:\n  x: [1, y]\n---\nbody"))
	f.Add([]byte("---\na: &x b\n---\n"))
	f.Fuzz(func(t *testing.T, document []byte) {
		fields, body, err := Parse(document)
		if err != nil {
			check.That(t, len(err.Error()) <= 2*MaxSize, "got an error of %d bytes", len(err.Error()))
			return
		}
		check.That(t, fields != nil && bytes.HasSuffix(document, body) && len(document)-len(body) <= 2*MaxSize,
			"got %v and %d bytes of %d", fields, len(body), len(document))
		// A value that was read can be written as JSON, and JSON is YAML.
		raw := check.Value(json.Marshal(fields))(t)
		if len(raw) > MaxSize/2 || bytes.ContainsAny(raw, "\\\x7f\u0085\u2028\u2029\ufeff") {
			return
		}
		again, _, err := Parse([]byte("---\n" + string(raw) + "\n---\n"))
		check.That(t, err == nil && reflect.DeepEqual(again, fields), "got %v, %v from %s", again, err, raw)
	})
}
