package adapter

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

var cutNotice = regexp.MustCompile(`\[… \d+ of \d+ bytes were cut here; call (\S+) with (\{"handle":"(\w+)","offset":\d+\}) to read them(?:; the whole is [^…]+)? …\]`)

func TestSpill(t *testing.T) {
	var all strings.Builder
	for i := range 500 {
		fmt.Fprintf(&all, "line %d é\n", i)
	}
	p := newPeer().tool("long", object, answer(all.String())).tool("short", object, answer("ok"))
	ts := p.open(t, &Options{Policy: Policy{MaxResult: 1000}, KeepResults: 1 << 20})
	wantTools(t, ts, "long", "short", "read_result")
	check.Equal(t, "a short result as it is", callTool(t, ts, "short", "").Text, "ok")
	r := callTool(t, ts, "long", "")
	found := cutNotice.FindStringSubmatch(r.Text)
	check.Require(t, found != nil && len(r.Text) <= 1000, "got %q, want at most 1000 bytes with a handle", r.Text)
	head, _, _ := strings.Cut(r.Text, "\n[…")
	got, args := head, found[2]
	for range 20 {
		page := callTool(t, ts, found[1], args)
		check.Require(t, !page.IsError && len(page.Text) <= 1000, "got %q, want a page", page.Text)
		notice, text, _ := strings.Cut(page.Text, "\n")
		got += text
		var from, to, size, next int
		if n, _ := fmt.Sscanf(notice, "[bytes %d to %d of %d; continue with offset %d]", &from, &to, &size, &next); n < 4 {
			check.Require(t, strings.HasSuffix(notice, "; the text ends here]"), "got the notice %q, want the end", notice)
			break
		}
		args = fmt.Sprintf(`{"handle":%q,"offset":"%d"}`, found[3], next)
	}
	check.Same(t, "the whole result page by page", got, all.String())
	page := callTool(t, ts, found[1], fmt.Sprintf(`{"handle":%q,"pattern":"^line 250 "}`, found[3]))
	check.That(t, strings.HasPrefix(page.Text, "[1 matches]\n[match 1 at byte "), "got %q, want a match", page.Text)
	for args, want := range map[string]string{
		fmt.Sprintf(`{"handle":%q,"offset":1e9}`, found[3]): "beyond the text",
		`{"handle":"guess"}`: "no result with that handle",
		`{}`:                 "missing required property",
	} {
		r := callTool(t, ts, "read_result", args)
		check.That(t, r.IsError && strings.Contains(r.Text, want) && r.Fatal() == nil, "%s: got %q, want %q", args, r.Text, want)
	}
	tool, _ := ts.Catalog(profile.Plain).Lookup("read_result")
	check.That(t, tool.Server() == "" && tool.Client() == nil && DeclaresReadOnly(tool.Definition()),
		"got a tool of some server, want the toolset's own")
}

func TestSpillIsBounded(t *testing.T) {
	p := &spill{limit: 100, texts: map[string]string{}}
	first := p.store(strings.Repeat("a", 40))
	second := p.store(strings.Repeat("b", 40))
	third := p.store(strings.Repeat("c", 40))
	check.That(t, p.texts[first] == "" && p.texts[second] != "" && p.texts[third] != "" && p.used == 80, "got %d bytes, want the oldest gone", p.used)
	h := p.store(strings.Repeat("d", 101))
	check.That(t, h == "" && p.used == 80, "got a text kept that is too long, or the others gone for it")
}

func TestSpillKeepsItsName(t *testing.T) {
	p := newPeer().tool("read_result", object, answer("mine")).tool("long", object, answer(strings.Repeat("x", 1000)))
	ts := p.open(t, &Options{Policy: Policy{MaxResult: 400}, KeepResults: 1 << 20})
	wantTools(t, ts, "long", "p__read_result", "toolset__read_result")
	found := cutNotice.FindStringSubmatch(callTool(t, ts, "long", "").Text)
	check.That(t, found != nil && found[1] == "toolset__read_result", "got %v, want the name that the tool has here", found)
	check.Equal(t, "the toolset's own tool without servers", len(toolNamesOf(open(t, &Options{KeepResults: 1}))), 1)
}
