package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/spelling"
)

// knownKeys are the keys of a server that this package uses.
var knownKeys = []string{
	"args", "command", "cwd", "disabled", "env", "envFile", "excludeTools", "headers", "includeTools", "oauth", "revision",
	"start", "timeout", "type", "url",
}

// aliases are other programs' names for known keys.
var aliases = map[string]string{
	"auth":          "oauth",        // Cursor
	"disabledTools": "excludeTools", // Windsurf, Roo Code
	"enabled":       "disabled",     // Zed; inverted
	"httpUrl":       "url",          // Gemini CLI
	"serverUrl":     "url",          // Windsurf
	"tools":         "includeTools", // Copilot CLI
}

// types are the values of "type", including other programs' names: a local server is started, a
// remote one is called.
var types = map[string]string{
	"stdio": "stdio", "local": "stdio",
	"http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"sse": "sse",
}

// foreignKeys are keys of other programs that share these files. They do not change the
// connection to a server, and grant nothing here.
var foreignKeys = []string{
	"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "gallery", "name", "sandbox", "source", "trust", "version",
}

// unsupportedKeys change the connection to a server, or its permissions, in a way that this
// package does not support.
var unsupportedKeys = map[string]string{
	"authProviderType":     googleSignIn,
	"headersHelper":        `no program is started for headers; use "headers" with a variable`,
	"sandboxEnabled":       "the server would run outside of its sandbox",
	"targetAudience":       googleSignIn,
	"targetServiceAccount": googleSignIn,
}

// googleSignIn is the reason for keys of Gemini CLI that select a sign-in with Google's own credentials.
const googleSignIn = "use \"oauth\", or \"headers\" with a variable"

// canonicalKey returns the name that this package uses for a key.
func canonicalKey(key string) string {
	if name, ok := aliases[key]; ok {
		return name
	}
	return key
}

// checkKeys checks all members, and stores the known ones under their canonical keys.
func (s *settings) checkKeys(members []member) {
	for _, m := range members {
		name := canonicalKey(m.key)
		reason, unsupported := unsupportedKeys[name]
		before, twice := s.node[name]
		switch {
		case unsupported:
			if !m.value.isOff() {
				s.noteUnsupported(m.line, s.key+"."+m.key, "not supported: %s", reason)
			}
		case slices.Contains(foreignKeys, name):
		case !slices.Contains(knownKeys, name) && s.err != nil: // only the first mistake is reported, and a hint takes time
		case !slices.Contains(knownKeys, name):
			hint := didYouMean(name, slices.Concat(knownKeys, slices.Sorted(maps.Keys(aliases))))
			s.noteMistake(m.line, s.key+"."+keyName(m.key), "unknown key;%s known keys: %s", hint, strings.Join(knownKeys, ", "))
		case name == "oauth" && (m.value.kind == kindNull || m.value.isFalse()): // no sign-in, for any kind of server
		case twice && before.key != m.key:
			s.noteTwoNames(m, s.key+"."+m.key, before)
		default:
			s.node[name] = m
		}
	}
}

// noteTwoNames records a mistake for two names of one key.
func (s *settings) noteTwoNames(m member, key string, before member) {
	s.noteMistake(m.line, key, "has the meaning of %q on line %d; give one of them", before.key, before.line)
}

// didYouMean suggests the key that is meant, if it is near the one of the file.
func didYouMean(key string, keys []string) string {
	if near := spelling.Nearest(key, keys); near != "" {
		return fmt.Sprintf(" did you mean %q?", near)
	}
	return ""
}

// keyPath returns the path of a known key in the document, with the name in the file.
func (s *settings) keyPath(name string) string {
	if m, ok := s.node[name]; ok {
		return s.key + "." + m.key
	}
	return s.key + "." + name
}
