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

// oauthKeys are the keys of an oauth object that have a meaning here.
var oauthKeys = []string{"callbackPort", "clientId", "clientSecret", "enabled", "scopes"}

// oauthAliases are other names for these keys: Cursor's, and those of OAuth's requests.
var oauthAliases = map[string]string{
	"CLIENT_ID":     "clientId",
	"CLIENT_SECRET": "clientSecret",
	"client_id":     "clientId",
	"client_secret": "clientSecret",
	"scope":         "scopes",
}

// unsupportedOAuth are keys of an oauth object that other programs use. Without them the sign-in would be
// another one than the file means.
var unsupportedOAuth = map[string]string{
	"audiences":             "sign-ins name the server by its URL",
	"authServerMetadataUrl": noEndpoints, // Claude Code
	"authorizationUrl":      noEndpoints, // this and the others: Gemini CLI
	"redirectUri":           `the redirect URI is http://127.0.0.1:PORT/callback; register that, and give the port as "callbackPort"`,
	"registrationUrl":       noEndpoints,
	"tokenParamName":        "tokens are sent in a header",
	"tokenUrl":              noEndpoints,
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
	before := s.unsupported
	o, enabled := s.readOAuth(key, m.value.members)
	if !enabled {
		s.unsupported = before // the needs of a sign-in that is switched off do not matter
		return nil
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		s.noteMistake(m.line, key, "has a client secret and no client id")
	}
	if h, remote := t.(*mcpclient.HTTP); remote && h.Header.Get("Authorization") != "" && s.isKnown(h.Header.Get("Authorization")) {
		s.noteMistake(m.line, key, "does not go with the header Authorization: a request has one of them")
	}
	if !s.d.signIn && len(m.value.members) > 0 {
		s.noteUnsupported(m.line, key, "not supported: this program does not sign in by the file")
	}
	return o
}

// readOAuth reads the members of an oauth object. enabled is false if one of them says so.
func (s *settings) readOAuth(key string, members []member) (o *OAuth, enabled bool) {
	o, enabled = new(OAuth), true
	seen := map[string]member{}
	for _, m := range members {
		at := key + "." + keyName(m.key)
		name := cmp.Or(oauthAliases[m.key], m.key)
		if before, twice := seen[name]; twice {
			s.noteTwoNames(m, at, before)
		}
		seen[name] = m
		switch name {
		case "enabled":
			s.requireKind(m.value, at, kindBool)
			enabled = !m.value.isFalse()
		case "clientId":
			o.ClientID = s.text(m.value, at)
		case "clientSecret":
			o.ClientSecret = s.text(m.value, at)
		case "scopes":
			o.Scopes = s.scopes(m.value, at)
		case "callbackPort":
			o.CallbackPort = s.port(m.value, at)
		default:
			if reason, unsupported := unsupportedOAuth[name]; unsupported {
				s.noteUnsupported(m.line, at, "not supported: %s", reason)
				continue
			}
			s.noteMistake(m.line, at, "unknown key;%s known keys: %s", didYouMean(m.key, oauthKeys), strings.Join(oauthKeys, ", "))
		}
	}
	return o, enabled
}

// scopes reads a list of scopes, or one text with blanks between them. It returns nil for none.
func (s *settings) scopes(n *node, key string) []string {
	if n.kind == kindString {
		return append([]string(nil), strings.Fields(s.text(n, key))...)
	}
	if !s.requireKind(n, key, kindList) {
		return nil
	}
	return s.items(n, key)
}

// port reads the number of a port. It returns 0 after a mistake.
func (s *settings) port(n *node, key string) int {
	port, err := json.Number(n.text).Int64()
	if n.kind != kindNumber || err != nil || port < 1 || port > 65535 {
		s.noteMistake(n.line, key, "want a port from 1 to 65535")
		return 0
	}
	return int(port)
}
