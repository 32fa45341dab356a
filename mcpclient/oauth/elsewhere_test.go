package oauth

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A worker does not wait for a person. Once the person has signed in elsewhere, the worker
// finds the token in the store.
func TestSignInElsewhere(t *testing.T) {
	w := newWorld(t)
	page, worker := w.options(), w.options()
	page.Store = NewMemoryStore()
	worker.Store, worker.Grant = page.Store, &AuthorizationCode{Receiver: SignInPage("https://host.test/sign-in?user=secret")}
	auth := w.transport(worker)
	for range 2 {
		err := call(t.Context(), auth)
		needed, ok := errors.AsType[*mcp.SignInError](err)
		if !ok || needed.URL != "https://host.test/sign-in?user=secret" || !mcpclient.Unsent(err) {
			t.Fatalf("got %v, want that a person has to sign in", err)
		}
		if text := err.Error(); strings.Contains(text, "secret") || !strings.Contains(text, "https://host.test/sign-in") {
			t.Errorf("the error says %q, want the page without its query", text)
		}
	}
	check.Must(t, w.transport(page).SignIn(t.Context()))
	w.mustCall(auth)
	if len(w.asked) != 1 || len(w.forms) != 1 {
		t.Errorf("got %d sign-ins and %d token requests, want one of each", len(w.asked), len(w.forms))
	}
}
