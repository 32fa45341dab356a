package config

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// OAuth is what a file says about the sign-in to a server.
type OAuth struct {
	ClientID     string   // a client that is registered already; "": register one
	ClientSecret string   // "": a public client
	Scopes       []string // as Options.Scopes of package oauth; nil: those that the server names
	CallbackPort int      // the port of the redirect URI on this machine; 0: any
}

// oauthKeys are the keys of an oauth object. To ignore an unsupported one would change the sign-in.
var oauthKeys = keySet{
	known: []string{"callbackPort", "clientId", "clientSecret", "enabled", "scopes"},
	aliases: map[string]string{ // Cursor's names, and those of OAuth's requests
		"CLIENT_ID":     "clientId",
		"CLIENT_SECRET": "clientSecret",
		"client_id":     "clientId",
		"client_secret": "clientSecret",
		"scope":         "scopes",
	},
	unsupported: map[string]string{
		"audiences":             "sign-ins name the server by its URL",
		"authServerMetadataUrl": noEndpoints, // Claude Code
		"authorizationUrl":      noEndpoints, // this and the others: Gemini CLI
		"redirectUri":           `the redirect URI is http://127.0.0.1:PORT/callback; register that, and give the port as "callbackPort"`,
		"registrationUrl":       noEndpoints,
		"tokenParamName":        "tokens are sent in a header",
		"tokenUrl":              noEndpoints,
	},
}

const noEndpoints = "the server names its authorization server; remove the key if that is the one you mean"

// oauth reads the settings of a sign-in: an object, or true for one with the server's own settings.
// It returns nil without a sign-in, also for "enabled": false of Gemini CLI. A transport with a token is a mistake.
func (s *settings) oauth(t transport.Transport) *OAuth {
	m, ok := s.node["oauth"]
	if !ok {
		return nil
	}
	key := s.keyPath("oauth")
	if m.value.kind != kindBool && !s.requireKind(m.value, key, kindObject) {
		return nil
	}
	in := &settings{d: s.d, key: key, line: m.line, node: map[string]member{}, err: s.err}
	in.checkKeys(&oauthKeys, m.value.members)
	o := &OAuth{ClientID: in.string("clientId"), ClientSecret: in.string("clientSecret"), Scopes: in.scopes(), CallbackPort: in.port()}
	off, given := in.node["enabled"]
	given = given && in.requireKind(off.value, in.keyPath("enabled"), kindBool)
	if s.note(in.err); given && off.value.isFalse() {
		return nil // what a sign-in needs that is switched off does not matter
	}
	s.unsupported = cmp.Or(s.unsupported, in.unsupported)
	if o.ClientSecret != "" && o.ClientID == "" {
		s.noteMistake(m.line, key, "has a client secret and no client id")
	}
	h, remote := t.(*mcpclient.HTTP)
	if remote && h.Header.Get("Authorization") != "" && s.isKnown(h.Header.Get("Authorization")) {
		s.noteMistake(m.line, key, "does not go with the header Authorization: a request has one of them")
	}
	if !s.d.opts.AllowSignIn && len(m.value.members) > 0 {
		s.noteUnsupported(m.line, key, "not supported: this program does not sign in by the file")
	}
	return o
}

// scopes reads a list of scopes, or one text with blanks between them. It returns nil for none.
func (s *settings) scopes() []string {
	m, ok := s.node["scopes"]
	switch {
	case !ok:
		return nil
	case m.value.kind == kindString:
		return append([]string(nil), strings.Fields(s.string("scopes"))...)
	}
	return s.list("scopes")
}

// port reads the number of a port. It returns 0 without one, and after a mistake.
func (s *settings) port() int {
	m, ok := s.node["callbackPort"]
	if !ok {
		return 0
	}
	port, err := json.Number(m.value.text).Int64()
	if m.value.kind != kindNumber || err != nil || port < 1 || port > 65535 {
		s.noteMistake(m.line, s.keyPath("callbackPort"), "want a port from 1 to 65535")
		return 0
	}
	return int(port)
}
