package signin

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
)

// Proxy takes the user from a header of the proxy, which has signed the user in. It implements
// site.SignIn.
type Proxy struct {
	Header  string
	Trusted bounded.Addresses // trusted proxies; the header of others is ignored
}

// Choices implements site.SignIn.
func (p *Proxy) Choices() site.Choices { return site.Choices{} }

// Person returns the user of a request. Nobody is signed in if the header is not there once, or its
// value is not a name.
func (p *Proxy) Person(r *http.Request) (site.Person, bool) {
	names := r.Header.Values(p.Header)
	if len(names) != 1 || !p.Trusted.HasSender(r) { // a second one may come from the browser
		return site.Person{}, false
	}
	user := strings.TrimSpace(names[0])
	if user == "" || len(user) > tokens.MaxUser || strings.ContainsFunc(user, unicode.IsControl) {
		return site.Person{}, false
	}
	return site.Person{User: user, Session: "of " + user}, true
}

// ServeHTTP answers people whom the proxy has not named.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.Trusted.HasSender(r) {
		site.WritePage(w, http.StatusForbidden, "You are not signed in", "This page is reached through a proxy that signs people in. This request did not come from there.")
		return
	}
	site.WritePage(w, http.StatusForbidden, "You are not signed in", fmt.Sprintf("The proxy in front of this page has not said who you are, in the header %s.", p.Header))
}

// SignOut refers to a page that says where to sign out.
func (p *Proxy) SignOut(w http.ResponseWriter, _ *http.Request) {
	hosting.WriteError(w, http.StatusConflict, "you are signed in by the proxy in front of this page; sign out there")
}
