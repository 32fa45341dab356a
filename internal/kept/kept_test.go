package kept_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/kept"
)

func TestDescribe(t *testing.T) {
	for data, want := range map[string][2]string{
		"":                                     {"text", "1 lines"},
		"a\nb":                                 {"text", "2 lines"},
		`{"a":`:                                {"text", "1 lines"},
		`"a"`:                                  {"text", "1 lines"},
		`{}`:                                   {"json", `{}`},
		` [{"a":1},2]`:                         {"json", `[2 objects]`},
		`{"a\n…":[1],"b":{},"c":null,"d":1.5}`: {"json", `{"a\n\u2026":[1 values],"b":object,"c":null,"d":number}`},
	} {
		kind, shape := kept.Describe([]byte(data))
		check.Equal(t, data, [2]string{kind, shape}, want)
	}
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,"member %d":"x"`, i)
	}
	_, shape := kept.Describe([]byte("{" + b.String()[1:] + "}"))
	check.That(t, len(shape) <= 300 && strings.HasSuffix(shape, ", 1000 members in all}"), "got %d bytes: %s", len(shape), shape)
	_, shape = kept.Describe([]byte(`{` + strings.Repeat(`"a\":":1,`, 13) + `"z":1}`))
	check.That(t, strings.HasSuffix(shape, ", 14 members in all}"), "names with quotes: got %s", shape)
}

const data = `{"items":[{"id":"a","n":1,"tags":["x","y"]},{"id":"b","n":2,"tags":["z"]}],"next":"p/2"}`

func TestRead(t *testing.T) {
	text := "one\ntwo\nthree\nfour"
	for name, tt := range map[string]struct {
		data string
		q    kept.Query
		want string
	}{
		"all":               {data, kept.Query{}, data},
		"offset":            {"äöü and more", kept.Query{Offset: 1}, "[bytes 2 to 15 of 15; the text ends here]\nöü and more"},
		"beyond":            {data, kept.Query{Offset: 999}, "error: offset is beyond the text, which has 88 bytes"},
		"lines":             {text, kept.Query{Line: 2, Lines: 2}, "[lines 2 to 3 of 4]\ntwo\nthree\n"},
		"lines to the end":  {text, kept.Query{Line: 4}, "[lines 4 to 4 of 4]\nfour"},
		"no such line":      {text, kept.Query{Line: 5}, "error: there is no line 5: the text has 4 lines"},
		"pointer":           {data, kept.Query{Pointer: "/items/1/tags"}, `["z"]`},
		"pointer with ~":    {`{"a/b":{"~":1}}`, kept.Query{Pointer: "/a~1b/~0"}, `1`},
		"no such member":    {data, kept.Query{Pointer: "/items/1/Id"}, `error: there is no "/items/1/Id": at "/items/1" is an object with ["id" "n" "tags"]`},
		"no such item":      {data, kept.Query{Pointer: "/items/2"}, `error: there is no "/items/2": at "/items" is a list of 2`},
		"into a string":     {data, kept.Query{Pointer: "/next/a"}, `error: there is no "/next/a": at "/next" is neither an object nor a list`},
		"pointer in text":   {text, kept.Query{Pointer: "/a"}, "error: result is not JSON"},
		"fields":            {data, kept.Query{Pointer: "/items", Fields: []string{"n", "/tags/0", "none"}}, "[{\"n\":1,\"/tags/0\":\"x\"},\n{\"n\":2,\"/tags/0\":\"z\"}]"},
		"pattern":           {data, kept.Query{Pattern: `"id":"b"`, Context: 3}, "[1 matches]\n[match 1 at byte 45 in \"/items/1\"]\n},{\"id\":\"b\",\"n\n"},
		"pattern in a list": {data, kept.Query{Pattern: `"[yz]"`, Context: 1}, "[2 matches]\n[match 1 at byte 38 in \"/items/0/tags\"]\n,\"y\"]\n[match 2 at byte 68 in \"/items/1/tags\"]\n[\"z\"]\n"},
		"below a pointer":   {data, kept.Query{Pointer: "/items/1", Pattern: `2`, Context: 1}, "[1 matches]\n[match 1 at byte 14 in \"/items/1\"]\n:2,\n"},
		"pattern of lines":  {text, kept.Query{Pattern: `^t.*$`, Context: 1}, "[2 matches]\n[match 1 at byte 4]\n\ntwo\n\n[match 2 at byte 8]\n\nthree\n\n"},
		"no match":          {text, kept.Query{Pattern: `five`}, "[no match]"},
		"bad pattern":       {text, kept.Query{Pattern: `(`}, "error: error parsing regexp: missing closing ): `(`"},
	} {
		got, err := kept.Read(t.Context(), []byte(tt.data), tt.q, 10_000)
		if err != nil {
			got = "error: " + err.Error()
		}
		check.Equal(t, name, got, tt.want)
	}
}

// TestReadIsBounded reads long texts, lines and matches.
func TestReadIsBounded(t *testing.T) {
	long := strings.Repeat("word ", 1<<20)
	for name, q := range map[string]kept.Query{
		"offset":         {Offset: 7},
		"limit":          {Limit: 1 << 30},
		"line":           {Line: 1},
		"matches":        {Pattern: "w", Context: 1 << 30},
		"one long match": {Pattern: ".*"},
	} {
		got, err := kept.Read(t.Context(), []byte(long), q, 6000)
		check.That(t, err == nil && len(got) <= 6000 && len(got) >= 1000, "%s: got %d bytes, %v", name, len(got), err)
	}
	check.Fails(t, check.Err(kept.Read(t.Context(), []byte(long), kept.Query{Pattern: strings.Repeat("a", 1001)}, 6000)), "a long pattern")
	deep := strings.Repeat("[", 1<<20)
	got, err := kept.Read(t.Context(), []byte(deep), kept.Query{Pointer: "/0/0"}, 6000)
	check.That(t, err != nil, "got %q", got)
	check.NoError(t, check.Err(kept.Read(t.Context(), []byte(deep), kept.Query{Pattern: `\[$`}, 6000)))
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(data), "/items/0", "id", "n", 3)
	f.Fuzz(func(t *testing.T, data []byte, pointer, pattern, field string, offset int) {
		kept.Describe(data)
		q := kept.Query{Pointer: pointer, Pattern: pattern, Offset: max(offset, 0)}
		if field != "" {
			q.Fields = []string{field}
		}
		got, err := kept.Read(t.Context(), data, q, 5000)
		check.That(t, err != nil || len(got) <= 5000, "got %d bytes", len(got))
	})
}
