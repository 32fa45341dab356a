package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A catalog never changes. If its tools change, the toolset has a new one.
func TestCatalogNeverChanges(t *testing.T) {
	ts := newPeer().tool("read", object, answer("p")).open(t, nil)
	catalog, definitions := ts.Catalog(profile.Plain), ts.Catalog(profile.Plain).Definitions()
	err := ts.Refresh(t.Context())
	check.That(t, err == nil && ts.Catalog(profile.Plain) != ts.Catalog(profile.OpenAI), "got %v, want a catalog for each profile", err)
	q := newPeer().tool("read", object, answer("q")).tool("late", object, answer("q"))
	check.Must(t, ts.Add(t.Context(), Server{Name: "q", Transport: q.transport(t)}))
	check.Same(t, "tools", namesOf(catalog.Tools()), []string{"read"})
	check.Same(t, "definitions", catalog.Definitions(), definitions)
	check.Same(t, "in another one", toolNamesOf(ts), []string{"p__read", "late", "q__read"})
	check.Equal(t, "the tool by its name of then", catalog.Call(t.Context(), call("1", "READ ", "")).Text, "p")
	var unknown *unknownToolError
	for _, name := range []string{"late", "q__read", "p__read"} {
		r := catalog.Call(t.Context(), call("1", name, ""))
		want := `Error: there is no tool named "` + name + `". The tools are: read`
		check.That(t, errors.As(r.Err, &unknown) && r.Text == want, "got %q, want %q: it was not offered", r.Text, want)
	}
}

// References can multiply the schemas of a server. A bound holds for all its tools together, is
// reported, and does not affect other servers.
func TestCatalogsAreBounded(t *testing.T) {
	const bound = 8 << 20
	var fields []string
	for i := range 400 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#/$defs/long"}`, i))
	}
	large := `{"type":"object","properties":{` + strings.Join(fields, ",") + `},"$defs":{"long":{"type":"string","description":"` + strings.Repeat("x", 4000) + `"}}}`
	p := newPeer()
	for i := range 40 {
		p.tool(fmt.Sprintf("large%d", i), large, echo)
	}
	ts := open(t, nil,
		Server{Name: "large", Transport: p.transport(t)},
		Server{Name: "small", Transport: newPeer().tool("small", `{"type":"object","properties":{"a":{"type":"integer"}}}`, echo).transport(t)})
	for _, target := range []profile.Profile{profile.Gemini, profile.GoogleAI} {
		catalog, size := ts.Catalog(target), 0
		for _, d := range catalog.Definitions() {
			raw, err := json.Marshal(d.Function.Parameters)
			check.Must(t, err)
			if size += len(raw); d.Function.Name == "small" && string(raw) != `{"properties":{"a":{"type":"integer"}},"type":"object"}` {
				t.Errorf("%s: got %s of another server", target, raw)
			}
		}
		check.That(t, size >= bound/2 && size <= bound+bound/4, "%s: got %d bytes of all schemas, want about %d at most", target, size, bound)
		if !slices.ContainsFunc(catalog.Changes(), func(c profile.Change) bool {
			return c.Tool == "large9" && c.Path == "" && c.Effect == "wider" && strings.Contains(c.Note, "too large together")
		}) {
			t.Errorf("%s: got no change that tells of it", target)
		}
	}
}
