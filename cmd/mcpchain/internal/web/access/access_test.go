package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// accessTo is an Access to one server.
func accessTo(t *testing.T, name, url string) *Access {
	t.Helper()
	a := New(Options{
		Store: oauth.NewMemoryStore(), Callback: "http://127.0.0.1:1/servers/callback", Changed: func(context.Context, string, string, bool) {},
	})
	a.Add(&config.Server{Name: name, Transport: &mcpclient.HTTP{URL: url}})
	t.Cleanup(func() { check.NoError(t, a.Close()) })
	return a
}

// TestGrantsEnd fills the room for connections. It is free again when nobody has used them for a while.
func TestGrantsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := accessTo(t, "mail", "https://mail.example.com/mcp")
		for n := range maxGrants {
			check.Must(t, check.Err(a.grant(fmt.Sprint("user ", n), "mail")))
		}
		check.Is(t, check.Err(a.grant("another", "mail")), ErrFull)
		time.Sleep(idleAfter / 2)
		before := check.Value(a.grant("user 1", "mail"))(t)
		time.Sleep(idleAfter)
		check.Must(t, check.Err(a.grant("another", "mail")))
		check.That(t, check.Value(a.grant("user 1", "mail"))(t) == before, "what was used meanwhile is another one")
		time.Sleep(2 * idleAfter)
		synctest.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		check.That(t, len(a.grants) == 0, "got %d connections after %v", len(a.grants), 2*idleAfter)
	})
}

// slow is an Access to a server that does not answer before goOn is closed. asked is closed when it is asked.
func slow(t *testing.T) (a *Access, asked, goOn chan struct{}) {
	asked, goOn = make(chan struct{}), make(chan struct{})
	var once sync.Once
	mcp := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tryout.NewServer() }, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			close(asked)
			<-goOn
		})
		mcp.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return accessTo(t, "mail", server.URL), asked, goOn
}

// TestSignOutWhileConnecting has a user sign out while the connection is made with the user's token: it is not used.
func TestSignOutWhileConnecting(t *testing.T) {
	a, asked, goOn := slow(t)
	var connecting sync.WaitGroup
	connecting.Go(func() { a.Connect(t.Context(), "Ada") })
	<-asked
	check.Must(t, a.SignOut(t.Context(), "Ada", "mail"))
	close(goOn)
	connecting.Wait()
	check.Equal(t, "state", a.Status("Ada")[0].State, Needed)
	check.That(t, check.Value(a.grant("Ada", "mail"))(t).toolset() == nil, "the user is connected")
}

// TestStopWhileConnecting has a user stop a turn while another turn connects to the server, for which it does not wait, and then
// that turn. The next one tries again.
func TestStopWhileConnecting(t *testing.T) {
	a, asked, goOn := slow(t)
	ctx, stop := context.WithCancel(t.Context())
	var connecting sync.WaitGroup
	connecting.Go(func() { a.Connect(ctx, "Ada") })
	<-asked
	stopped, stopOther := context.WithCancel(t.Context())
	stopOther()
	a.Connect(stopped, "Ada")
	check.NoError(t, ctx.Err())
	stop()
	connecting.Wait()
	check.Equal(t, "state", a.Status("Ada")[0].State, Untried)
	close(goOn)
	a.Connect(t.Context(), "Ada")
	check.Equal(t, "state", a.Status("Ada")[0].State, Ready)
}

// TestConnectAgain connects to a server beside a slow one, and again after it was down.
func TestConnectAgain(t *testing.T) {
	a, asked, goOn := slow(t)
	var isUp atomic.Bool
	tried, shop := make(chan struct{}), sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tryout.NewServer() }, &sdk.StreamableHTTPOptions{Stateless: true})
	try := sync.OnceFunc(func() { close(tried) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if try(); !isUp.Load() {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		shop.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer a.Close() // first
	a.Add(&config.Server{Name: "shop", Transport: &mcpclient.HTTP{URL: server.URL}})
	var connecting sync.WaitGroup
	connecting.Go(func() { a.Connect(t.Context(), "Ada") })
	<-asked
	<-tried
	close(goOn)
	connecting.Wait()
	states := func() []State { return []State{a.Status("Ada")[0].State, a.Status("Ada")[1].State} }
	check.Same(t, "states", states(), []State{Ready, Failing})
	isUp.Store(true)
	a.Connect(t.Context(), "Ada")
	check.Same(t, "states at once", states(), []State{Ready, Failing})
	check.Value(a.grant("Ada", "shop"))(t).retry = time.Now()
	a.Connect(t.Context(), "Ada")
	check.Same(t, "states later", states(), []State{Ready, Ready})
}

// TestSlowFailure has turns wait for a server that hangs for a small part of the time.
func TestSlowFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := accessTo(t, "mail", "https://mail.example.com/mcp")
		g := check.Value(a.grant("Ada", "mail"))(t)
		for took, wait := range map[time.Duration]time.Duration{0: time.Minute, connectTime: retryShare * connectTime} {
			g.fail(context.DeadlineExceeded, took)
			time.Sleep(wait - 1)
			check.Equal(t, "due early", g.isDue(), false)
			time.Sleep(time.Nanosecond)
			check.Equal(t, "due", g.isDue(), true)
		}
	})
}

// TestMoreScopes has a call need more access, and its user leave the page of the provider: other calls have the token that they had.
// When the user returns and allows more, the call has the new one.
func TestMoreScopes(t *testing.T) {
	server := peer.StartProtected(t, peer.Notes(), time.Hour)
	a := accessTo(t, "notes", server.URL)
	signIn := func(change string) error {
		var answer url.Values
		check.Must(t, server.Provider.BrowseUntil(t.Context(), check.Value(a.Begin(t.Context(), "Ada", "notes"))(t), func(u *url.URL) { answer = u.Query() }))
		if change != "" {
			answer.Set(change, "access_denied")
		}
		return check.Err(a.Callback(t.Context(), "Ada", answer))
	}
	call := func(tool string) error {
		messages, err := check.Value(a.grant("Ada", "notes"))(t).toolset().Catalog(profile.Plain).Dispatch(t.Context(), []llms.ToolCall{
			{ID: "1", FunctionCall: &llms.FunctionCall{Name: tool, Arguments: "{}"}},
		})
		if text := fmt.Sprint(messages); err == nil && !strings.Contains(text, tool+" done") {
			return errors.New(text)
		}
		return err
	}
	check.Must(t, signIn(""))
	check.Must(t, call("list_notes"))
	check.That(t, call("add_note") != nil, "the call did not need more access")
	check.That(t, signIn("error") != nil, "the provider's refusal was no error")
	check.NoError(t, call("list_notes"))
	check.Must(t, signIn(""))
	check.NoError(t, call("add_note"))
	check.Equal(t, "tokens", server.Tokens(), 2)
}

// TestCallInProgress has a call wait for hours, for example for the reply to a form: its connection is not idle.
func TestCallInProgress(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	waits := sdk.NewServer(&sdk.Implementation{Name: "mail", Version: "1"}, nil)
	sdk.AddTool(waits, &sdk.Tool{Name: "wait"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		close(begun)
		<-goOn
		return &sdk.CallToolResult{}, nil, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return waits }, nil))
	t.Cleanup(server.Close)
	a := accessTo(t, "mail", server.URL)
	a.Connect(t.Context(), "Ada")
	g := check.Value(a.grant("Ada", "mail"))(t)
	var calling sync.WaitGroup
	calling.Go(func() {
		check.NoError(t, check.Err(g.toolset().Catalog(profile.Plain).Dispatch(t.Context(), []llms.ToolCall{
			{ID: "1", FunctionCall: &llms.FunctionCall{Name: "wait", Arguments: "{}"}},
		})))
	})
	<-begun
	later := time.Now().Add(2 * idleAfter)
	check.That(t, !g.idle(later), "the connection of a call in progress is idle")
	close(goOn)
	calling.Wait()
	check.That(t, g.idle(later), "the connection is still in use after the call")
}
