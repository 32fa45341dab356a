package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The error for an answer that does not fit a form does not reveal the answer.
func TestMisfitIsNotTold(t *testing.T) {
	p := &mcp.ElicitParams{Mode: mcp.ElicitForm, RequestedSchema: []byte(`{"type":"object","properties":{"age":{"type":"integer"}}}`)}
	_, err := forms.Complete(p, &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"my-secret": 1}})
	if err == nil || !strings.Contains(err.Error(), "my-secret") {
		t.Fatalf("got %v, want the field", err)
	}
	wire := string(responseTo([]byte("1"), nil, err))
	if want := `{"code":-32603,"message":"the answer does not fit the form"}`; !strings.Contains(wire, want) {
		t.Errorf("got %s, want %s", wire, want)
	}
}

// The error of a handler does not look like the outcome of the call.
func TestAbandonedTellsRejectionOnly(t *testing.T) {
	met := fmt.Errorf("look up: %w: %w: %w", ErrClosed, context.DeadlineExceeded, &mcp.RPCError{Code: 1})
	for _, err := range []error{met, fmt.Errorf("%w: %w", mcp.ErrRejected, met)} {
		got := abandoned("sampling/createMessage", err)
		var rpc *mcp.RPCError
		if errors.Is(got, ErrClosed) || errors.Is(got, context.DeadlineExceeded) || errors.As(got, &rpc) {
			t.Errorf("got %v, which is what the handler met", got)
		}
		if errors.Is(got, mcp.ErrRejected) != errors.Is(err, mcp.ErrRejected) || !strings.Contains(got.Error(), err.Error()) {
			t.Errorf("got %v, want the text of %v", got, err)
		}
	}
}

func TestNullToolIsRefused(t *testing.T) {
	a := &answerer{peer: &peer{offers: offers{sampling: &mcp.SamplingCapability{Tools: true}}}}
	_, err := a.createMessage(t.Context(), []byte(`{"maxTokens":1,"messages":[],"tools":[null]}`))
	if e := wireError(err); e.Code != mcp.CodeInvalidParams {
		t.Errorf("got %v, want code %d", err, mcp.CodeInvalidParams)
	}
}
