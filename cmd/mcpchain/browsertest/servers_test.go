package browsertest_test

import (
	"context"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
)

// notes is a server that says whose token a call has. add_note needs more access than whose.
func notes(t *testing.T) (*peer.Protected, []string) {
	t.Helper()
	s := newServer("notes")
	for _, name := range []string{"whose", "add_note"} {
		s.tool(name, nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said(&sdk.TextContent{Text: name + " by the account " + req.Extra.TokenInfo.UserID + "."}), nil
		})
	}
	protected := peer.StartProtected(t, s.Server, time.Hour)
	args := configured(t, "notes", map[string]any{"type": "http", "url": protected.URL})
	return protected, append(args, "-listen", "127.0.0.1:0") // the only IPv4 address that some providers redirect to
}

// signInAt goes through the pages of the provider, from the card that is open, and returns the last
// address, which leads back to the page.
func (w *person) signInAt(p *peer.Protected, login string) (back string) {
	w.t.Helper()
	w.click(".card.sign_in button", "Sign in")
	return w.browseAt(p, login)
}

// browseAt is signInAt after the button.
func (w *person) browseAt(p *peer.Protected, login string) (back string) {
	w.t.Helper()
	issuer, err := url.Parse(p.Provider.Issuer)
	check.Must(w.t, err)
	w.see(".card .host.big", issuer.Host)
	w.see(".card a.button[rel~=noopener]", "Open the page")
	p.Provider.Login = login
	err = p.Provider.BrowseUntil(w.t.Context(), eval[string](w, "document.querySelector('.card a.button').href"), func(u *url.URL) { back = u.String() })
	check.Must(w.t, err)
	return back
}

// visit opens an address in another window of the person, and closes it.
func (w *person) visit(address, want string) {
	w.t.Helper()
	other := w.another()
	if want == "You are not signed in" {
		other.expectErrors("403")
	}
	other.do(chromedp.Navigate(address))
	other.see("h1", want)
	other.do(chromedp.Navigate("about:blank"))
}

func (w *person) call(tool, want string) {
	w.t.Helper()
	w.allow("call "+tool+" {}", ".reply .prose", want)
}

// TestServersOfUsers has two people sign in to one server, each with an account of their own.
func TestServersOfUsers(t *testing.T) {
	server, args := notes(t)
	ada := enter(t, args...)
	grace := ada.beside("Grace")
	for _, w := range []*person{ada, grace} {
		w.click("#grants button", "Sign in", ".card h3", "notes wants you to sign in")
	}
	ada.accessible("sign-in to a server")
	back := ada.signInAt(server, "ada-at-notes")
	ada.accessible("page of the sign-in")
	ada.prefer("dark")
	ada.narrow()
	if !eval[bool](ada, `(n => {
		n.focus();
		const { x, y, width, height } = n.getBoundingClientRect();
		return n.contains(document.elementFromPoint(x + width / 2, y + height / 2));
	})(document.querySelector(".card a.button"))`) {
		t.Error("something covers the link to the sign-in")
	}
	ada.shoot("sign-in to a server narrow dark")
	ada.prefer("light")
	ada.wide()

	grace.visit(back, "You are not signed in") // Ada's answer, in Grace's browser
	grace.see("#grants", "Sign in")
	ada.visit(back, "You are signed in to notes")
	ada.gone(".card")
	ada.see("#grants", "signed in")
	ada.call("whose", "by the account ada-at-notes.")

	grace.visit(grace.signInAt(server, "grace-at-notes"), "You are signed in to notes")
	grace.gone(".card")
	grace.call("whose", "by the account grace-at-notes.")
	ada.ask("call whose {}")
	ada.click(".card.approval button", "Allow")
	ada.await("[...document.querySelectorAll('.call pre')].filter(n => n.textContent.includes('ada-at-notes')).length === 2")
	check.Equal(t, "tokens: one of each", server.Tokens(), 2)

	for _, w := range []*person{ada, grace} {
		w.see("#send", "Send") // the turns are over
		w.expectErrors("net::ERR")
	}
	ada.program.end(t, syscall.SIGKILL) // tokens outlive the process
	ada.program.again(t)
	ada.reload()
	ada.call("whose", "by the account ada-at-notes.")
	ada.see("#grants", "signed in")
	grace.reload()
	grace.click("#new", "New")
	grace.call("whose", "by the account grace-at-notes.")
	grace.click("#grants button", "Sign out", "#grants", "wants you to sign in")
	ada.see("#grants", "signed in")
	check.Equal(t, "tokens: the same two", server.Tokens(), 2)
}

// TestMoreAccess has a person refuse at the provider and begin again, and a call wait until they allow more there. Another one is
// declined.
func TestMoreAccess(t *testing.T) {
	server, args := notes(t)
	ada := enter(t, args...)
	ada.click("#grants button", "Sign in")
	refused := strings.Replace(ada.signInAt(server, "ada"), "code=", "error=access_denied&unused=", 1)
	ada.visit(refused, "You are not signed in")
	ada.click(".card.sign_in button", "Begin again")
	ada.await("new URL(document.querySelector('.card a.button').href).searchParams.get('state') !== %s", check.Value(url.Parse(refused))(t).Query().Get("state"))
	ada.visit(ada.browseAt(server, "ada"), "You are signed in to notes")
	ada.gone(".card")
	ada.ask("call add_note {}")
	ada.click(".card.approval button", "Allow", ".card.sign_in", "The call of add_note waits until you are signed in.")
	ada.accessible("more access")
	ada.click(".card.sign_in button", "Decline", ".reply .prose", "the user did not sign in")
	ada.ask("call add_note {}")
	ada.click(".card.approval button", "Allow", ".card.sign_in", "The call of add_note waits")
	back := ada.signInAt(server, "ada")
	check.Contains(t, "the scope", eval[string](ada, "new URL(document.querySelector('.card a.button').href).searchParams.get('scope')"), "notes:write")
	ada.visit(back, "You are signed in to notes")
	ada.see(".reply .prose", "add_note by the account ada.")
}
