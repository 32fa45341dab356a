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
	"allowedTools":   "includeTools", // Kit
	"auth":           "oauth",        // Cursor
	"disabledTools":  "excludeTools", // Windsurf, Roo Code
	"disabled_tools": "excludeTools", // Codex
	"enabled":        "disabled",     // opencode, Zed; inverted
	"enabledTools":   "includeTools",
	"enabled_tools":  "includeTools", // Codex
	"environment":    "env",          // opencode, Kit
	"excludedTools":  "excludeTools", // Kit
	"httpUrl":        "url",          // Gemini CLI
	"http_headers":   "headers",      // Codex
	"serverUrl":      "url",          // Windsurf
	"tools":          "includeTools", // Copilot CLI
	"transport":      "type",         // FastMCP
}

// types are the values of "type", including other programs' names: a local server is started, a
// remote one is called.
var types = map[string]string{
	"stdio": "stdio", "local": "stdio",
	"http": "http", "streamable-http": "http", "streamableHttp": "http", "streamable_http": "http", "remote": "http",
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
	"bearer_token_env_var": `write "headers": {"Authorization": "Bearer ${VARIABLE}"}`,
	"env_http_headers":     `use "headers" with a variable, as in ${VARIABLE}`,
	"headersHelper":        `no program is started for headers; use "headers" with a variable`,
	"sandboxEnabled":       "the server would run outside of its sandbox",
	"startup_timeout_sec":  "the program sets the time for connecting, for all servers",
	"tool_timeout_sec":     `write "timeout" in milliseconds, or as text such as "90s"`,
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

// sections returns the objects of servers: mcpServers, servers and mcp.servers of VS Code,
// context_servers of Zed, mcp_servers of Codex, and mcp of opencode, Kit and the settings of VS
// Code, which contains the servers or an object servers. Other programs have keys beside the
// servers, so only a probable typing mistake is refused.
func (d *decoder) sections(root *node) (all []section, err error) {
	names := []string{"mcpServers", "servers", "context_servers", "mcp_servers", "mcp.servers"}
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
		case m.key == "mcp" && m.value.kind == kindObject:
			all = append(all, nestedSections(m)...)
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

// nestedSections returns the servers within mcp. Gemini CLI has other settings there.
func nestedSections(mcp member) []section {
	direct := member{key: mcp.key, line: mcp.line, value: &node{kind: kindObject, line: mcp.value.line}}
	for _, m := range mcp.value.members {
		if m.key == "servers" && m.value.kind == kindObject && !m.value.isServer() {
			return []section{{"mcp.servers", m}}
		}
		if m.value.isServer() {
			direct.value.members = append(direct.value.members, m)
		}
	}
	if len(direct.value.members) == 0 {
		return nil
	}
	return []section{{"mcp", direct}}
}

// readChosen decodes the lists of servers that Gemini CLI uses: mcp.allowed and mcp.excluded.
func (d *decoder) readChosen(root *node) (err error) {
	mcp := root.member("mcp")
	if mcp == nil || mcp.kind != kindObject {
		return nil
	}
	if d.allowed, err = d.serverNames(mcp, "allowed"); err != nil {
		return err
	}
	d.excluded, err = d.serverNames(mcp, "excluded")
	return err
}

// serverNames decodes a list of servers within mcp, nil if there is none.
func (d *decoder) serverNames(mcp *node, key string) ([]string, error) {
	n := mcp.member(key)
	if n == nil || n.kind != kindList {
		return nil, nil
	}
	names := []string{}
	for i, item := range n.items {
		if err := d.checkKind(item, fmt.Sprintf("mcp.%s[%d]", key, i), kindString); err != nil {
			return nil, err
		}
		names = append(names, item.text)
	}
	return names, nil
}

// isExcluded reports whether the lists of the file exclude a server.
func (d *decoder) isExcluded(name string) bool {
	return d.allowed != nil && !slices.Contains(d.allowed, name) || slices.Contains(d.excluded, name)
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
			return d.errorf(m.line, keyName(m.key), `a server stands outside of "mcpServers"; did you mean {"mcpServers": {%s: …}}?`, quoteKey(m.key))
		}
	}
	return d.errorf(root.line, "", `no servers: want an object "mcpServers", or "servers" as in VS Code`)
}
