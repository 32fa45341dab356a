package run_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A text of HTML is kept as the person wrote it, and is no longer than that.
func TestAcceptKeepsText(t *testing.T) {
	q := &run.Question{ID: "1", Kind: run.QuestionForm, Elicit: &mcp.ElicitParams{
		Mode: mcp.ElicitForm, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"page":{"type":"string"}}}`),
	}}
	page := "<b>" + strings.Repeat("&", 1<<19)
	reply, err := q.Accept(map[string]any{"page": page})
	want := `{"page":"` + page + `"}`
	check.That(t, err == nil && string(reply.Content) == want, "got %.20s with %d bytes, %v, want %.20s with %d", reply.Content, len(reply.Content), err, want, len(want))
}

// JSON that nests deeper than a store can load is refused.
func TestDeepReplies(t *testing.T) {
	deep := json.RawMessage(`{"a":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}`)
	q := &run.Question{ID: "1", Kind: run.QuestionApproval}
	arguments, unknown := q.Allow(), q.Allow()
	arguments.Arguments = deep
	unknown.Unknown = jsontext.Value(deep)
	for name, reply := range map[string]run.Reply{"arguments": arguments, "unknown members": unknown} {
		err := run.CheckReply(q, reply, time.Now())
		check.That(t, errors.Is(err, run.ErrUnfit) && strings.Contains(err.Error(), "nested deeper than"), "%s: got %v, want %v", name, err, run.ErrUnfit)
	}
}

// Sums do not overflow.
func TestSpent(t *testing.T) {
	rest := run.Usage{Turns: 3}
	rest.Add(run.Usage{Turns: math.MaxInt})
	check.That(t, rest.Turns == math.MaxInt, "got %d turns, want no overflow", rest.Turns)
}
