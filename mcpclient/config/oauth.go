package config

import (
	"encoding/json"
	"strings"
)

// OAuth is what a file says about the sign-in to a server.
type OAuth struct {
	ClientID     string   // a client that is registered already; "": register one
	ClientSecret string   // "": a public client
	Scopes       []string // to request; nil: those that the server names
	CallbackPort int      // the port of the redirect URI on this machine; 0: any
}

// oauth reads the settings of a sign-in: an object with the keys of Claude Code and VS Code, Gemini
// CLI or Cursor. False or null means that there is no sign-in.
func (s *settings) oauth() *OAuth {
	m, ok := s.node["oauth"]
	if !ok {
		return nil
	}
	key := s.keyPath("oauth")
	if m.value.kind == kindBool { // true: with the server's own settings
		m.value = &node{kind: kindObject, line: m.value.line}
	}
	if !s.requireKind(m.value, key, kindObject) {
		return nil
	}
	o := new(OAuth)
	for _, e := range m.value.members {
		s.oauthKey(o, key+"."+keyName(e.key), e)
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		s.noteMistake(m.line, key, "has a client secret and no client id")
	}
	if !s.d.signIn && len(m.value.members) > 0 {
		s.noteUnsupported(m.line, key, "not supported: this program does not sign in by the file")
	}
	return o
}

// oauthKeys are the keys of an oauth object.
var oauthKeys = []string{"callbackPort", "clientId", "clientSecret", "scopes"}

func (s *settings) oauthKey(o *OAuth, key string, m member) {
	switch m.key {
	case "clientId", "client_id", "CLIENT_ID":
		o.ClientID = s.text(m.value, key)
	case "clientSecret", "client_secret", "CLIENT_SECRET":
		o.ClientSecret = s.text(m.value, key)
	case "scopes", "scope":
		o.Scopes = s.scopes(m.value, key)
	case "callbackPort":
		n, err := json.Number(m.value.text).Int64()
		if m.value.kind != kindNumber || err != nil || n < 1 || n > 65535 {
			s.noteMistake(m.line, key, "want a port from 1 to 65535")
		}
		o.CallbackPort = int(n)
	case "enabled":
		s.requireKind(m.value, key, kindBool)
	default:
		s.noteMistake(m.line, key, "unknown key;%s known keys: %s", didYouMean(m.key, oauthKeys), strings.Join(oauthKeys, ", "))
	}
}

// scopes reads a list of scopes, or one text with blanks between them.
func (s *settings) scopes(n *node, key string) []string {
	if n.kind == kindString {
		return strings.Fields(s.text(n, key))
	}
	if !s.requireKind(n, key, kindList) {
		return nil
	}
	return s.items(n, key)
}
