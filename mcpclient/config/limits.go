package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/spelling"
)

// maxTimeout bounds the timeout of a server.
const maxTimeout = 24 * time.Hour

// OAuth is what a file says about the sign-in to a server.
type OAuth struct {
	ClientID     string   // of a client that is registered already; "": register one
	ClientSecret string   // "": a public client
	Scopes       []string // to request; nil: those that the server names
	CallbackPort int      // the port of the redirect URI on this machine; 0: any
}

// timeout returns the longest silence of a call, 0 if the file sets none. Programs disagree on the
// unit of a number: most use milliseconds, Cline uses seconds from 30 to 3,600.
func (s *settings) timeout() (time.Duration, error) {
	m, ok := s.node["timeout"]
	if !ok || m.value.kind == kindNull {
		return 0, nil
	}
	wrong := func(reason string) (time.Duration, error) {
		return 0, s.d.errorf(m.line, s.at("timeout"), "%s", reason)
	}
	const wanted = `want milliseconds, or text such as "90s", up to 24 hours`
	switch m.value.kind {
	case kindString:
		text, err := s.text(m.value, s.at("timeout"))
		if err != nil || s.unsupported != nil {
			return 0, err
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > maxTimeout {
			return wrong(wanted)
		}
		return d, nil
	case kindNumber:
		n, err := json.Number(m.value.text).Int64()
		switch {
		case err != nil || n <= 0 || n > maxTimeout.Milliseconds():
			return wrong(wanted)
		case n < 1000:
			return time.Duration(n) * time.Second, nil
		case n <= 3600:
			return wrong(fmt.Sprintf(`milliseconds in some programs, seconds in others; write "%dms" or "%ds"`, n, n))
		}
		return time.Duration(n) * time.Millisecond, nil
	}
	return wrong(wanted)
}

// tools reads the tools that are used and those that are not.
func (s *settings) tools() (allow, deny []string, err error) {
	if allow, err = s.list("includeTools"); err != nil {
		return nil, nil, err
	}
	if m, ok := s.node["includeTools"]; ok && len(allow) == 0 {
		return nil, nil, s.d.errorf(m.line, s.at("includeTools"), `allows no tool; remove the key to use all, or set "disabled"`)
	}
	if deny, err = s.list("excludeTools"); err != nil {
		return nil, nil, err
	}
	if !s.d.filters && (deny != nil || !everything(allow)) {
		key := "includeTools"
		if everything(allow) {
			key = "excludeTools"
		}
		s.lack(s.node[key].line, s.at(key), "not supported: this program does not choose tools by the file")
	}
	return allow, deny, nil
}

func everything(allow []string) bool { return allow == nil || slices.Contains(allow, "*") }

// oauth reads the settings of a sign-in: an object with the keys of Claude Code
// and VS Code, Gemini CLI, opencode or Cursor. False or null means that there is no sign-in.
func (s *settings) oauth() (*OAuth, error) {
	m, ok := s.node["oauth"]
	if !ok {
		return nil, nil
	}
	key := s.at("oauth")
	if m.value.kind == kindBool { // true: with the server's own settings
		m.value = &node{kind: kindObject, line: m.value.line}
	}
	if err := s.d.want(m.value, key, kindObject); err != nil {
		return nil, err
	}
	o := new(OAuth)
	for _, e := range m.value.members {
		if err := s.oauthKey(o, key+"."+keyName(e.key), e); err != nil {
			return nil, err
		}
	}
	if o.ClientSecret != "" && o.ClientID == "" {
		return nil, s.d.errorf(m.line, key, "has a client secret and no client id")
	}
	if !s.d.signIn && len(m.value.members) > 0 {
		s.lack(m.line, key, "not supported: this program does not sign in by the file")
	}
	return o, nil
}

// oauthKeys are the keys of an oauth object.
var oauthKeys = []string{"callbackPort", "clientId", "clientSecret", "scopes"}

func (s *settings) oauthKey(o *OAuth, key string, m member) (err error) {
	switch m.key {
	case "clientId", "client_id", "CLIENT_ID":
		o.ClientID, err = s.text(m.value, key)
	case "clientSecret", "client_secret", "CLIENT_SECRET":
		o.ClientSecret, err = s.text(m.value, key)
	case "scopes", "scope":
		o.Scopes, err = s.scopes(m.value, key)
	case "callbackPort":
		n, wrong := json.Number(m.value.text).Int64()
		if m.value.kind != kindNumber || wrong != nil || n < 1 || n > 65535 {
			return s.d.errorf(m.line, key, "want a port from 1 to 65535")
		}
		o.CallbackPort = int(n)
	case "enabled":
		return s.d.want(m.value, key, kindBool)
	default:
		hint := ""
		if near := spelling.Nearest(m.key, oauthKeys); near != "" {
			hint = fmt.Sprintf(" did you mean %q?", near)
		}
		return s.d.errorf(m.line, key, "unknown key;%s known keys: %s", hint, strings.Join(oauthKeys, ", "))
	}
	return err
}

// scopes reads a list of scopes, or one text with blanks between them.
func (s *settings) scopes(n *node, key string) ([]string, error) {
	if n.kind == kindString {
		text, err := s.text(n, key)
		return strings.Fields(text), err
	}
	if err := s.d.want(n, key, kindList); err != nil {
		return nil, err
	}
	return s.items(n, key)
}
