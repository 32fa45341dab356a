package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestCompletion(t *testing.T) {
	language := &mcp.CompleteParams{Prompt: "review", Argument: "language", Value: "py"}
	any := &mcp.CompleteParams{Prompt: "p", Argument: "a"}
	playAll(t, bothEras(conversation{name: "completion", play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		got, err := c.Complete(ctx, language)
		ten := 10
		want := &mcp.Completion{Values: []string{"python", "pytorch"}, Total: &ten, HasMore: true}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("prompt: got +, want -:\n%s%v", diff, err)
		}
		got, err = c.Complete(ctx, &mcp.CompleteParams{
			Template: "file:///{dir}/{name}", Argument: "name", Filled: map[string]string{"dir": "src"},
		})
		if diff := cmp.Diff(&mcp.Completion{Values: []string{}}, got); diff != "" || err != nil {
			t.Errorf("template: got +, want -:\n%s%v", diff, err)
		}
		got, err = c.Complete(ctx, any)
		if err != nil || len(got.Values) != 100 || got.Values[99] != "99" || !got.HasMore {
			t.Errorf("101 values: got %+v, %v, want the first 100 and HasMore", got, err)
		}
		if _, err = c.Complete(ctx, any); !errors.Is(err, mcp.ErrInvalidResult) {
			t.Errorf("no completion in the result: got %v, want ErrInvalidResult", err)
		}
		_, err = c.Complete(ctx, any)
		e := wantError[*mcp.RPCError](t, err)
		wrong(t, e.Code != mcp.CodeInvalidParams || !strings.Contains(err.Error(), `argument "a" of "p"`), "refused: got %v", err)
		if _, err = c.Complete(ctx, &mcp.CompleteParams{Argument: "a"}); err == nil || !strings.Contains(err.Error(), "Prompt or Template") {
			t.Errorf("no reference: got %v", err)
		}
	}}))
	playAll(t, []conversation{
		{name: "completion_2024-11-05", opts: mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20241105}}, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			p := *language
			p.Filled = map[string]string{"style": "terse"}
			got, err := c.Complete(ctx, &p)
			diff := cmp.Diff(&mcp.Completion{Values: []string{"python"}}, got)
			wrong(t, diff != "" || err != nil, "got +, want -:\n%s%v", diff, err)
		}},
		{name: "completion_undeclared", opts: mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20250326}}, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			_, err := c.Complete(ctx, language)
			e := wantError[*mcpclient.CapabilityError](t, err)
			wrong(t, e.Capability != "completions", "got %v, want the capability completions", err)
		}},
	})
}

// An impossible total counts as absent.
func TestCompletionTotal(t *testing.T) {
	for total, want := range map[string]string{"-1": "<nil>", "1.5": "<nil>", "null": "<nil>", "0": "0", "7": "7"} {
		inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"completion":{"values":[],"total":%s}}}`, total)
			got, err := c.Complete(t.Context(), &mcp.CompleteParams{Prompt: "p", Argument: "a"})
			must(t, err)
			text := "<nil>"
			if got.Total != nil {
				text = fmt.Sprint(*got.Total)
			}
			equal(t, total, text, want)
		})
	}
}
