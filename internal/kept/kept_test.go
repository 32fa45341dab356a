package kept_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
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
		"all":                {data, kept.Query{}, data},
		"offset":             {"äöü and more", kept.Query{Offset: 1}, "[bytes 2 to 15 of 15; the text ends here]\nöü and more"},
		"limit":              {"äöü and more", kept.Query{Limit: 1}, "[bytes 0 to 4 of 15; continue with offset 4]\näö"},
		"larger limit":       {"äöü and more", kept.Query{Limit: 7}, "[bytes 0 to 7 of 15; continue with offset 7]\näöü "},
		"fields of a text":   {text, kept.Query{Fields: []string{"a"}}, "error: result is not JSON"},
		"beyond":             {data, kept.Query{Offset: 999}, "error: offset is beyond the text, which has 88 bytes"},
		"lines":              {text, kept.Query{Line: 2, Lines: 2}, "[lines 2 to 3 of 4]\ntwo\nthree\n"},
		"lines to the end":   {text, kept.Query{Line: 4}, "[lines 4 to 4 of 4]\nfour"},
		"no such line":       {text, kept.Query{Line: 5}, "error: there is no line 5: the text has 4 lines"},
		"pointer":            {data, kept.Query{Pointer: "/items/1/tags"}, `["z"]`},
		"pointer with ~":     {`{"a/b":{"~":1}}`, kept.Query{Pointer: "/a~1b/~0"}, `1`},
		"no such member":     {data, kept.Query{Pointer: "/items/1/Id"}, `error: there is no "/items/1/Id": at "/items/1" is an object with ["id" "n" "tags"]`},
		"no such item":       {data, kept.Query{Pointer: "/items/2"}, `error: there is no "/items/2": at "/items" is a list of 2`},
		"into a string":      {data, kept.Query{Pointer: "/next/a"}, `error: there is no "/next/a": at "/next" is neither an object nor a list`},
		"pointer in text":    {text, kept.Query{Pointer: "/a"}, "error: result is not JSON"},
		"fields":             {data, kept.Query{Pointer: "/items", Fields: []string{"n", "/tags/0", "none"}}, "[{\"n\":1,\"/tags/0\":\"x\"},\n{\"n\":2,\"/tags/0\":\"z\"}]"},
		"pattern":            {data, kept.Query{Pattern: `"id":"b"`, Context: 3}, "[1 matches]\n[match 1 at byte 45 in \"/items/1\"]\n},{\"id\":\"b\",\"n\n"},
		"pattern in a list":  {data, kept.Query{Pattern: `"[yz]"`, Context: 1}, "[2 matches]\n[match 1 at byte 38 in \"/items/0/tags\"]\n,\"y\"]\n[match 2 at byte 68 in \"/items/1/tags\"]\n[\"z\"]\n"},
		"below a pointer":    {data, kept.Query{Pointer: "/items/1", Pattern: `2`, Context: 1}, "[1 matches]\n[match 1 at byte 14 in \"/items/1\"]\n:2,\n"},
		"pattern of lines":   {text, kept.Query{Pattern: `^t.*$`, Context: 1}, "[2 matches]\n[match 1 at byte 4]\n\ntwo\n\n[match 2 at byte 8]\n\nthree\n\n"},
		"not a line's start": {text, kept.Query{Pattern: `^(wo|three)`, Offset: 5, Context: 1}, "[1 matches]\n[match 1 at byte 8]\n\nthree\n\n"},
		"no match":           {text, kept.Query{Pattern: `five`}, "[no match]"},
		"bad pattern":        {text, kept.Query{Pattern: `(`}, "error: error parsing regexp: missing closing ): `(`"},
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

const one, two = "r0000000000000001", "r0000000000000002"

func results(handle string) ([]byte, error) {
	switch handle {
	case one:
		return []byte(data), nil
	case two:
		return []byte("two\nlines"), nil
	}
	return nil, errors.New("there is none")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestFill(t *testing.T) {
	for name, tt := range map[string]struct{ in, shown, sent string }{
		"none": {`{"a": 1.0}`, `{"a": 1.0}`, `{"a": 1.0}`},
		"a text": {
			`{"to":"x","content":{"$result":"` + two + `"},"n":1e2}`,
			`{"to":"x","content":{"$result":"` + two + `","size":9,"kind":"text","shape":"2 lines","sha256":"` + digest("two\nlines") + `"},"n":1e2}`,
			`{"to":"x","content":"two\nlines","n":1e2}`,
		},
		"a value in a list": {
			`{"a":[{"$result":"` + one + `","pointer":"/items/1"},2]}`,
			`{"a":[{"$result":"` + one + `","pointer":"/items/1","size":29,"kind":"json","shape":"{\"id\":string,\"n\":number,\"tags\":[1 strings]}","sha256":"` + digest(`{"id":"b","n":2,"tags":["z"]}`) + `"},2]}`,
			`{"a":[{"id":"b","n":2,"tags":["z"]},2]}`,
		},
		"what only looks so":      {`{"a":{"$result":"x"},"b":{"$result":"` + one + `","also":1}}`, `{"a":{"$result":"x"},"b":{"$result":"` + one + `","also":1}}`, `{"a":{"$result":"x"},"b":{"$result":"` + one + `","also":1}}`},
		"none of that name":       {`{"a":{"$result":"r0000000000000003"}}`, "", "error: there is none"},
		"no such value":           {`{"a":{"$result":"` + one + `","pointer":"/b"}}`, "", `error: result "` + one + `": there is no "/b": at "" is an object with ["items" "next"]`},
		"JSON of a text":          {`{"a":{"$result":"` + two + `","pointer":""}}`, "", `error: result "` + two + `": result is not JSON`},
		"another than was shown":  {`{"a":{"$result":"` + two + `","sha256":"00"}}`, "", `is not the one that the arguments name`},
		"no JSON":                 {`{"a":{"$result":"` + two + `"}`, "", "error: arguments with a reference have to be one JSON object"},
		"more than are filled in": {`[` + strings.Repeat(`{"$result":"`+two+`"},`, 101) + `0]`, "", "error: arguments have more than 100 references"},
	} {
		shown, sent, err := kept.Fill([]byte(tt.in), results)
		got := string(sent)
		if err != nil {
			got = "error: " + err.Error()
		}
		if strings.HasPrefix(name, "another") {
			check.That(t, err != nil && strings.Contains(got, tt.sent), "%s: got %s", name, got)
			continue
		}
		check.That(t, got == tt.sent && (err != nil || string(shown) == tt.shown),
			"%s: got\n%s\n%s\nwant\n%s\n%s", name, shown, got, tt.shown, tt.sent)
		if err != nil {
			continue
		}
		again, sent, err := kept.Fill(shown, results)
		check.That(t, err == nil && string(again) == string(shown) && string(sent) == tt.sent,
			"%s: filled again: got %s, %s, %v", name, again, sent, err)
	}
}

// A search finds what FindAllStringIndex finds.
func TestFindAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	patterns := []string{
		"a", "ab|a", "a*", "", "^", "$", "^a", "a$", `\b`, `\Ba`, `\Aa`, `a\z`, "(a)(b)?", "(?i)A", "(?s)a.b", "a.b", "(?-m)^a", "x*?", `[^a]+`, `\Qa.`, `é|\n`, "(?U)a+", `\pL+`, "b|ab",
	}
	for range 2000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString([]string{"a", "b", "A", "é", "\n", " ", ".", "x"}[r.IntN(8)])
		}
		for _, p := range patterns {
			want := regexp.MustCompile("(?m)"+p).FindAllStringIndex(b.String(), -1)
			got, searched, err := kept.FindAll(t.Context(), p, b.String(), 1<<20)
			check.Require(t, err == nil && searched == b.Len() && fmt.Sprint(got) == fmt.Sprint(want),
				"%q in %q: got %v to %d, %v, want %v", p, &b, got, searched, err, want)
		}
	}
}

// A pattern that reads the rest of the text for each match, or that has many instructions, ends a search
// early, and so does the context.
func TestSearchIsBounded(t *testing.T) {
	text := strings.Repeat("x", 1<<16)
	for _, p := range []string{`x[^y]*y|x`, `(?:x?){900}y`} {
		const steps = 1 << 20
		found, searched, err := kept.FindAll(t.Context(), p, text, steps)
		check.That(t, err == nil && searched < 1<<12 && len(found) <= 100,
			"%s: got %d matches in %d bytes, %v", p, len(found), searched, err)
	}
	got, err := kept.Read(t.Context(), []byte(strings.Repeat("x", 1<<20)), kept.Query{Pattern: `(?:x?){900}y`}, 6000)
	want := "[no match, and the search takes too long: continue with offset 110926, or use a simpler pattern]"
	check.That(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
	if found, searched, err := kept.FindAll(t.Context(), "xyz", text+"xyz", 1); err != nil || searched != len(text)+3 || len(found) != 1 {
		t.Errorf("words: got %v in %d bytes, %v, want all of the text searched", found, searched, err)
	}
	many := kept.Query{Fields: slices.Repeat([]string{"a"}, 51)}
	check.Text(t, check.Err(kept.Read(t.Context(), []byte(`{"a":1}`), many, 6000)), "51 fields")
	big := kept.Query{Fields: []string{"a", "/a", "/a/0"}}
	data := `{"a":["` + strings.Repeat("x", 20<<20) + `"]}`
	check.Text(t, check.Err(kept.Read(t.Context(), []byte(data), big, 6000)), "more than 32 MiB")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(kept.Read(ctx, []byte(text), kept.Query{Pattern: "y"}, 6000)), context.Canceled)
	_, _, err = kept.FindAll(t.Context(), "(a", "", 1)
	check.That(t, err != nil && !strings.Contains(err.Error(), "(?m)"), "got %v, want an error in the words of the model", err)
}
