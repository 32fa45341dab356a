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

// discovered is the answer to server/discover.
const discovered = `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`

// Calls on a lost connection fail with ErrConnectionLost, even if the restart closes the
// connection before its reader has ended them.
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
					_ = conn.Send(context.Background(), fmt.Appendf(nil, discovered, m.ID))
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
		_ = c.connector.lost(l, io.ErrUnexpectedEOF) // the reader stops here
		if err := <-called; !errors.Is(err, ErrConnectionLost) || errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrConnectionLost", err)
		}
	})
}

// ending is a connection that refuses messages once its reader has seen its end.
type ending struct {
	Conn
	dies func() // called before it refuses; nil before its end
}

func (e *ending) Dial(context.Context) (Conn, error) { return e, nil }

func (e *ending) Send(ctx context.Context, message []byte) error {
	if e.dies == nil {
		return e.Conn.Send(ctx, message)
	}
	e.dies()
	return e.Err()
}

func (e *ending) Err() error {
	if e.dies == nil {
		return nil
	}
	return io.EOF
}

// A message that an ending connection refuses was not sent, even if the end of the connection
// has failed the call by then.
func TestRefusedByEndingConnection(t *testing.T) {
	for name, err := range map[string]error{"before the reader": nil, "after it": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			transport, conn := Pipe()
			defer func() { _ = conn.Close() }()
			pipe, dialErr := transport.Dial(t.Context())
			if dialErr != nil {
				t.Fatal(dialErr)
			}
			e := &ending{Conn: pipe}
			go func() {
				raw, _ := conn.Recv()
				var m struct{ ID json.RawMessage }
				_ = json.Unmarshal(raw, &m)
				_ = conn.Send(context.Background(), fmt.Appendf(nil, discovered, m.ID))
			}()
			c, connectErr := Connect(t.Context(), e, nil)
			if connectErr != nil {
				t.Fatal(connectErr)
			}
			defer func() { _ = c.Close() }()
			l := c.link.Load()
			e.dies = func() {
				if err != nil {
					l.calls.Close(err)
				}
			}
			_, got := c.wire.roundTrip(t.Context(), &request{method: "tools/call"}, &callOptions{})
			if _, unsent := errors.AsType[*unsentError](got); !unsent || err != nil && !errors.Is(got, err) {
				t.Errorf("got %v, want one that was not sent, of %v", got, err)
			}
		})
	}
}

// A connection that refuses messages may still deliver answers, and a restart does not prevent
// that.
func TestEndingConnectionBringsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := Pipe()
		defer func() { _ = conn.Close() }()
		pipe, err := transport.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		e := &ending{Conn: pipe}
		asked := make(chan json.RawMessage)
		go func() {
			for {
				raw, err := conn.Recv()
				if err != nil {
					return
				}
				var m struct{ ID json.RawMessage }
				_ = json.Unmarshal(raw, &m)
				asked <- m.ID
			}
		}()
		go func() {
			_ = conn.Send(context.Background(), fmt.Appendf(nil, discovered, <-asked))
		}()
		c, err := Connect(t.Context(), e, &Options{Restart: new(Restart)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		called := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "a", nil)
			called <- err
		}()
		id := <-asked
		e.dies = func() {}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = c.CallTool(ctx, "b", nil) }() // waits for the next connection
		synctest.Wait()
		if len(called) > 0 {
			t.Fatalf("got %v before the connection ended", <-called)
		}
		_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}`, id))
		if err := <-called; err != nil {
			t.Errorf("got %v, want the answer", err)
		}
		cancel()
	})
}
