package mcpclient_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// collect drains a list up to its error.
func collect[T any](seq iter.Seq2[*T, error], name func(*T) string) (names []string, err error) {
	for item, err := range seq {
		if err != nil {
			return names, err
		}
		names = append(names, name(item))
	}
	return names, nil
}

func toolName(t *mcpclient.Tool) string                { return t.Name }
func promptName(p *mcpclient.Prompt) string            { return p.Name }
func resourceURI(r *mcpclient.Resource) string         { return r.URI }
func templateURI(r *mcpclient.ResourceTemplate) string { return r.URITemplate }

func TestLists(t *testing.T) {
	play := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		var tools []*mcpclient.Tool
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, tool)
		}
		if len(tools) != 3 || tools[0].Name != "a" || string(tools[0].InputSchema) != `{"type":"object"}` && string(tools[0].InputSchema) != `{"type": "object"}` {
			t.Errorf("got tools %+v", tools)
		}
		if last := tools[2]; last.DisplayName() != "The C" || last.OutputSchema == nil || !*last.Annotations.ReadOnlyHint {
			t.Errorf("got tool %+v", last)
		}
		if got, err := collect(c.Prompts(ctx), promptName); err != nil || !slices.Equal(got, []string{"p"}) {
			t.Errorf("got prompts %q, %v", got, err)
		}
		for r, err := range c.Resources(ctx) {
			if err != nil || r.URI != "file:///r" || *r.Size != 1<<53+1 {
				t.Errorf("got resource %+v, %v", r, err)
			}
		}
		if got, err := collect(c.ResourceTemplates(ctx), templateURI); err != nil || !slices.Equal(got, []string{"file:///{path}"}) {
			t.Errorf("got templates %q, %v", got, err)
		}
	}
	broken := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		names, err := collect(c.Tools(ctx), toolName)
		if !errors.Is(err, mcpclient.ErrTooManyPages) || !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("repeated cursor: got %q, %v", names, err)
		}
		if _, err := collect(c.Prompts(ctx), promptName); !errors.Is(err, mcpclient.ErrInvalidResult) {
			t.Errorf("null for an item: got %v", err)
		}
		if _, err := collect(c.Resources(ctx), resourceURI); !errors.Is(err, mcpclient.ErrInvalidResult) {
			t.Errorf("no items: got %v", err)
		}
		if _, err := collect(c.ResourceTemplates(ctx), templateURI); !errors.Is(err, mcpclient.ErrInvalidResult) {
			t.Errorf("an object for the items: got %v", err)
		}
		_, err = collect(c.Prompts(ctx), promptName)
		if e := wantError[*mcpclient.RPCError](t, err); e.Code != mcpclient.CodeInvalidParams {
			t.Errorf("got %v", err)
		}
	}
	endless := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		names, err := collect(c.Tools(ctx), toolName)
		if !errors.Is(err, mcpclient.ErrTooManyPages) || len(names) != 3 {
			t.Errorf("got %q, %v, want 3 tools and the bound", names, err)
		}
	}
	playAll(t, bothEras(
		conversation{name: "lists", play: play},
		conversation{name: "list_broken", play: broken},
		conversation{name: "list_endless", play: endless, opts: mcpclient.Options{MaxPages: 3}},
	))
}

// A list that is ranged over twice asks twice, and a loop that is left asks no more.
func TestListIsLazy(t *testing.T) {
	playAll(t, []conversation{{name: "list_lazy", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		tools := c.Tools(ctx)
		for range 2 {
			for tool, err := range tools {
				if err != nil || tool.Name != "a" {
					t.Errorf("got %+v, %v", tool, err)
				}
				break
			}
		}
	}}})
}
