package adapter

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A catalog is what it was, and the toolset has another one once its tools are
// others.
func TestCatalogNeverChanges(t *testing.T) {
	p := newPeer().tool("read", object, answer("p"))
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	catalog, definitions := ts.Catalog(Plain), ts.Catalog(Plain).Definitions()
	if err := ts.Refresh(t.Context()); err != nil || ts.Catalog(Plain) == ts.Catalog(OpenAI) {
		t.Errorf("got %v, want a catalog for each profile", err)
	}
	q := newPeer().tool("read", object, answer("q")).tool("late", object, answer("q"))
	if err := ts.Add(t.Context(), Server{Name: "q", Transport: q.transport(t)}); err != nil {
		t.Fatal(err)
	}
	names := func(c *Catalog) (out []string) {
		for _, tool := range c.Tools() {
			out = append(out, tool.Name())
		}
		return out
	}
	if diff := cmp.Diff(names(catalog), []string{"read"}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	if diff := cmp.Diff(catalog.Definitions(), definitions); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	if diff := cmp.Diff(names(ts.Catalog(Plain)), []string{"p__read", "late", "q__read"}); diff != "" {
		t.Errorf("got (-) want (+) in another one:\n%s", diff)
	}
	if r := catalog.Call(t.Context(), call("1", "READ ", "")); r.Text != "p" {
		t.Errorf("got %q, want the tool by its name of then", r.Text)
	}
	var unknown *UnknownToolError
	for _, name := range []string{"late", "q__read", "p__read"} {
		r := catalog.Call(t.Context(), call("1", name, ""))
		if want := `Error: there is no tool named "` + name + `". The tools are: read`; !errors.As(r.Err, &unknown) || r.Text != want {
			t.Errorf("got %q, want %q: it was not offered", r.Text, want)
		}
	}
}
