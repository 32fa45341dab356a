package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// If a resource is subscribed again during its unsubscribe request, the subscribe request
// follows that.
func TestSubscribeAfterUnsubscribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		release := make(chan struct{})
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			mu.Lock()
			got = append(got, m.Method)
			mu.Unlock()
			if m.Method == "resources/unsubscribe" {
				<-release
			}
			mu.Lock()
			got = append(got, m.Method+" answered")
			mu.Unlock()
			_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		})
		o := legacy()
		o.Protocol.AllowUndeclared = true
		c := connectTo(t, s, o)
		first := subscribed(t, t.Context(), c, onResources("file:///a"))
		var ends sync.WaitGroup
		ends.Go(func() { _ = first.Close() })
		synctest.Wait()
		ends.Go(func() { subscribed(t, t.Context(), c, onResources("file:///a")) })
		synctest.Wait()
		close(release)
		ends.Wait()
		synctest.Wait()
		want := []string{
			"resources/subscribe", "resources/subscribe answered", "resources/unsubscribe", "resources/unsubscribe answered",
			"resources/subscribe", "resources/subscribe answered",
		}
		same(t, "", got, want)
	})
}

// A notification on the stream of one subscription that names another reaches neither.
func TestNotificationOfAnotherStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		sends := map[string]func(string){} // by id of the request
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			send := stream(w)
			send(acknowledgement(m, `,"notifications":{"toolsListChanged":true}`))
			mu.Lock()
			sends[string(m.ID)] = send
			mu.Unlock()
			<-r.Context().Done()
		})
		var log logged
		o := modern()
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c := connectTo(t, s, o)
		all := []*mcpclient.Subscription{subscribed(t, t.Context(), c, onTools), subscribed(t, t.Context(), c, onTools)}
		synctest.Wait()
		var ids []string
		for id := range sends {
			ids = append(ids, id)
		}
		changed := func(stream, names string) {
			sends[stream](fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, names))
		}
		changed(ids[0], ids[1])
		synctest.Wait()
		for _, sub := range all {
			wantNoChange(t, sub)
		}
		if !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("the log has no warning:\n%s", log.String())
		}
		changed(ids[0], ids[0])
		changed(ids[1], ids[1])
		for _, sub := range all {
			wantChanges(t, sub, toolsChanged)
		}
	})
}

// lookedAt is a context that calls a function when something waits for its end.
type lookedAt struct {
	context.Context
	do func()
}

func (l lookedAt) Done() <-chan struct{} {
	l.do()
	return l.Context.Done()
}

// Changes that arrived before the end of a subscription precede its error, even if both arrive
// just before the reader waits.
func TestChangesPrecedeTheEnd(t *testing.T) {
	for range 20 { // select chooses randomly
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			asked := make(chan message, 1)
			go func() {
				m := p.next()
				p.send("%s", acknowledgement(m, ""))
				asked <- m
			}()
			s := subscribed(t, t.Context(), c, onTools)
			m := <-asked
			ctx := lookedAt{t.Context(), sync.OnceFunc(func() {
				p.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
				_ = p.conn.Close()
				synctest.Wait()
			})}
			var got []mcp.Change
			var last error
			for change, err := range s.Changes(ctx) {
				if last = err; err == nil {
					got = append(got, change)
				}
			}
			if len(got) == 0 || got[0] != toolsChanged || !errors.Is(last, mcpclient.ErrClosed) {
				t.Fatalf("got %v, then %v", got, last)
			}
		})
	}
}

// A subscription is not a call: the server is pinged.
func TestKeepAliveOfASubscription(t *testing.T) {
	inBubble(t, kept(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			p.acknowledge()
			for range p.inbox { // silent from then on
				continue
			}
		}()
		s := subscribed(t, t.Context(), c, onTools)
		time.Sleep(2 * time.Minute)
		wantText(t, c.Err(), "no sign of life")
		_ = end(s)
	})
}
