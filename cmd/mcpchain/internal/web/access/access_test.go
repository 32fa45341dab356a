package access

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// TestGrantsEnd fills the room for connections. It is free again when nobody has used them for a while.
func TestGrantsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Options{
			Servers: []*config.Server{{Name: "mail", Transport: &mcpclient.HTTP{URL: "https://mail.example.com/mcp"}}},
			Store:   oauth.MemoryStore(),
		})
		defer a.Close()
		for n := range maxGrants {
			check.Must(t, check.Err(a.grant(fmt.Sprint("user ", n), "mail")))
		}
		check.Is(t, check.Err(a.grant("another", "mail")), ErrFull)
		time.Sleep(idleIfFull / 2)
		before, err := a.grant("user 1", "mail")
		check.Must(t, err)
		time.Sleep(idleIfFull/2 + time.Second)
		if _, err := a.grant("another", "mail"); err != nil {
			t.Errorf("after %v: got %v", idleIfFull, err)
		}
		if after, err := a.grant("user 1", "mail"); after != before || err != nil {
			t.Errorf("what was used meanwhile: got another one, or %v", err)
		}
		time.Sleep(2 * idleAfter)
		synctest.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.grants) != 0 {
			t.Errorf("got %d connections after %v", len(a.grants), 2*idleAfter)
		}
	})
}
