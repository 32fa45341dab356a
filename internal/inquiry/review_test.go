package inquiry_test

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// An approval is for one request: not for what its handler asks meanwhile.
func TestApprovalIsForOneRequest(t *testing.T) {
	params, other := new(mcp.CreateMessageParams), new(mcp.CreateMessageParams)
	ctx := inquiry.WithApproved(t.Context(), params, "m")
	if model, ok := inquiry.Approved(ctx, params); !ok || model != "m" {
		t.Errorf("got %q, %v, want an approval for m", model, ok)
	}
	if _, ok := inquiry.Approved(ctx, other); ok {
		t.Error("another request is approved, too")
	}
	if _, ok := inquiry.Approved(t.Context(), nil); ok {
		t.Error("no request is approved")
	}
}
