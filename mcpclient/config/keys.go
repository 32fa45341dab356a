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
	"headersHelper":  `no program is started for headers; use "headers" with a variable`,
	"sandboxEnabled": "the server would run outside of its sandbox",
}

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
		case name == "oauth" && (m.value.kind == kindNull || m.value.text == "false"): // no sign-in, for any kind of server
		case twice && before.key != m.key:
			s.noteMistake(m.line, s.key+"."+m.key, "has the meaning of %q on line %d; give one of them", before.key, before.line)
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

// section is an object of servers in a document.
type section struct {
	key     string
	servers member
}

// sections returns the objects of servers: mcpServers, servers and mcp.servers of VS Code, also as
// servers within mcp, and context_servers of Zed. Other programs have keys beside the servers, so
// only a probable typing mistake is refused.
func (d *decoder) sections(root *node) (all []section, err error) {
	names := []string{"mcpServers", "servers", "context_servers", "mcp.servers"}
	for _, m := range root.members {
		switch {
		case slices.Contains(names, m.key):
			if m.first != 0 {
				return nil, d.errorf(m.line, m.key, "this key is on line %d already", m.first)
			}
			if err := d.checkKind(m.value, m.key, kindObject); err != nil {
				return nil, err
			}
			all = append(all, section{m.key, m})
		case m.key == "mcp":
			for _, inner := range m.value.members {
				switch {
				case inner.key == "servers" && inner.value.kind == kindObject:
					all = append(all, section{"mcp.servers", inner})
				case inner.key == "allowed" || inner.key == "excluded": // of Gemini CLI
					return nil, d.errorf(inner.line, "mcp."+inner.key, `not supported: write "disabled": true in the servers to leave out`)
				}
			}
		default:
			if hint := didYouMean(m.key, names); hint != "" {
				return nil, d.errorf(m.line, m.key, "unknown key;%s", hint)
			}
		}
	}
	if all == nil {
		return nil, d.noServersError(root)
	}
	return all, nil
}

// isServer reports whether an object looks like the entry of a server.
func (n *node) isServer() bool {
	return n.kind == kindObject && slices.ContainsFunc(n.members, func(m member) bool {
		name := canonicalKey(m.key)
		return name == "command" && m.value.kind != kindObject || name == "url" && m.value.kind == kindString
	})
}

// noServersError returns the error for a document without servers. It names one that stands at the
// root.
func (d *decoder) noServersError(root *node) error {
	for _, m := range root.members {
		if m.value.isServer() {
			return d.errorf(m.line, keyName(m.key),
				`a server stands outside of "mcpServers"; did you mean {"mcpServers": {%s: …}}?`, quoteKey(m.key))
		}
	}
	return d.errorf(root.line, "", `no servers: want an object "mcpServers", or "servers" as in VS Code`)
}
