package host

import (
	"encoding/json"
	"runtime"
	"testing"
	"weak"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A call that was made does not keep the view's message in memory.
func TestCallbacksAreForgotten(t *testing.T) {
	c := &callbacks{called: make(chan struct{}, 1)}
	message := new([64 << 10]byte)
	kept := weak.Make(message)
	c.queue("test", func() { message[0] = 1 })
	c.next().run()
	runtime.GC()
	check.That(t, kept.Value() == nil, "the message is still in memory")
	runtime.KeepAlive(c)
}

// "The Host MUST NOT send any request or notification to the View before it receives an
// initialized notification": not even the progress of a call.
func TestNoProgressBeforeInitialized(t *testing.T) {
	out := newOutbox(1 << 10)
	v := check.Value(newView(HostContext{}, out))(t)
	h := &requests{opts: (*Options)(nil).withDefaults(), view: v, out: out}
	v.greet(nil)
	h.progress(json.RawMessage(`1`), mcp.Progress{Progress: 1})
	check.Equal(t, "before", string(out.next()), "")
	v.setReady()
	h.progress(json.RawMessage(`1`), mcp.Progress{Progress: 2})
	check.Equal(t, "after", string(out.next()), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`)
}
