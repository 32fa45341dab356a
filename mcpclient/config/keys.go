package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/spelling"
)

// keySet specifies the keys that an object may have.
type keySet struct {
	known       []string          // those that this package uses, sorted
	aliases     map[string]string // other programs' names for known keys
	foreign     []string          // keys of other programs that change nothing here
	unsupported map[string]string // keys of other programs that change what an entry means, with advice
}

// serverKeys are the keys of a server. Foreign ones do not change the connection, and grant nothing
// here; unsupported ones change the connection or the permissions.
var serverKeys = keySet{
	known: []string{
		"args", "command", "cwd", "disabled", "env", "envFile", "excludeTools", "headers", "includeTools", "oauth", "revision",
		"start", "timeout", "type", "url",
	},
	aliases: map[string]string{
		"auth":          "oauth",        // Cursor
		"disabledTools": "excludeTools", // Windsurf, Roo Code
		"enabled":       "disabled",     // Zed; inverted
		"httpUrl":       "url",          // Gemini CLI
		"serverUrl":     "url",          // Windsurf
		"tools":         "includeTools", // Copilot CLI
	},
	foreign: []string{
		"alwaysAllow", "alwaysLoad", "autoApprove", "description", "dev", "gallery", "name", "sandbox", "source", "trust", "version",
	},
	unsupported: map[string]string{
		"authProviderType":     googleSignIn,
		"headersHelper":        `no program is started for headers; use "headers" with a variable`,
		"sandboxEnabled":       "the server would run outside of its sandbox",
		"targetAudience":       googleSignIn,
		"targetServiceAccount": googleSignIn,
	},
}

// googleSignIn is the reason for keys of Gemini CLI that select a sign-in with Google's own credentials.
const googleSignIn = "use \"oauth\", or \"headers\" with a variable"

// types are the values of "type", including other programs' names: a local server is started, a remote one is called.
var types = map[string]string{
	"stdio": "stdio", "local": "stdio",
	"http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http",
	"sse": "sse",
}

// canonical returns the name that this package uses for a key.
func (k *keySet) canonical(key string) string { return cmp.Or(k.aliases[key], key) }

// checkKeys checks the members of an object, and stores those with known keys under their canonical keys.
func (s *settings) checkKeys(keys *keySet, members []member) {
	for _, m := range members {
		name, key := keys.canonical(m.key), s.key+"."+keyName(m.key)
		reason, unsupported := keys.unsupported[name]
		before, twice := s.node[name]
		switch {
		case unsupported:
			if !m.value.isOff() {
				s.noteUnsupported(m.line, key, "not supported: %s", reason)
			}
		case slices.Contains(keys.foreign, name):
		case !slices.Contains(keys.known, name) && s.err != nil: // only the first mistake is reported, and a hint takes time
		case !slices.Contains(keys.known, name):
			hint := didYouMean(name, slices.Concat(keys.known, slices.Sorted(maps.Keys(keys.aliases))))
			s.noteMistake(m.line, key, "unknown key;%s known keys: %s", hint, strings.Join(keys.known, ", "))
		case twice && before.key != m.key:
			s.noteMistake(m.line, key, "has the meaning of %q on line %d; give one of them", before.key, before.line)
		default:
			s.node[name] = m
		}
	}
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
