package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
)

// Calls under way on a lost connection are lost, also if the restart takes that
// connection down before its reader ends them.
func TestCallsOfLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := Pipe()
		go func() {
			for {
				raw, err := conn.Recv()
				if err != nil {
					return
				}
				var m struct {
					ID     json.RawMessage
					Method string
				}
				_ = json.Unmarshal(raw, &m)
				if m.Method == "server/discover" {
					_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`, m.ID))
				}
			}
		}()
		c, err := Connect(t.Context(), transport, &Options{Restart: new(Restart)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		defer func() { _ = c.Close() }()
		called := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "a", nil)
			called <- err
		}()
		synctest.Wait()
		l := c.link.Load()
		l.mu.Lock()
		l.err = io.ErrUnexpectedEOF
		l.mu.Unlock()
		_ = c.lost(l, io.ErrUnexpectedEOF) // the reader goes no further
		if err := <-called; !errors.Is(err, ErrConnectionLost) || errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrConnectionLost", err)
		}
	})
}
