package host

import (
	"encoding/json"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// "The Host MUST NOT send any request or notification to the View before it receives an
// initialized notification": not even the progress of a call.
func TestNoProgressBeforeInitialized(t *testing.T) {
	out := newOutbox(1 << 10)
	v, err := newView(HostContext{}, out)
	check.Must(t, err)
	h := &handlers{opts: (*Options)(nil).withDefaults(), view: v, out: out}
	v.greet(mcp.Implementation{}, nil)
	h.progress(json.RawMessage(`1`), mcp.Progress{Progress: 1})
	check.Equal(t, "before", string(out.next()), "")
	v.setReady()
	h.progress(json.RawMessage(`1`), mcp.Progress{Progress: 2})
	check.Equal(t, "after", string(out.next()), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`)
}
