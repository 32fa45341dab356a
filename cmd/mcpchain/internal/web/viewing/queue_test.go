package viewing

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
)

// TestRoomForSeveral has several messages wait for room in the queue of a window. When the window has received what is there,
// all of them get in.
func TestRoomForSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conn := mcpclient.Pipe()
		session := check.Value(host.Open(t.Context(), conn, struct{ host.Server }{}, nil))(t)
		w := &window{queue: newQueue()}
		v := &view{window: w, host: session}
		for range maxWaiting {
			v.put("view", json.RawMessage("0"))
		}
		const several = 3
		var added atomic.Int64
		for range several {
			go func() {
				if v.put("view", json.RawMessage("0")) {
					added.Add(1)
				}
			}()
		}
		synctest.Wait()
		check.Equal(t, "added to a full queue", added.Load(), 0)
		s := &Service{windows: map[windowKey]*window{{}: w}}
		s.Seen("", "", maxWaiting)
		synctest.Wait()
		check.Equal(t, "added", added.Load(), several)
		_ = session.Close(t.Context(), "the test is over")
		<-session.Done()
	})
}
