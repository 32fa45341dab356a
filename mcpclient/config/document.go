package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/spelling"
)

// decoder turns a document into servers.
type decoder struct {
	opts    Loader
	file    string
	inputs  map[string]func() (string, error) // by id: asks a person for the value, once; nil: do not ask
	preview bool                              // leave variables as they are, and look for no other file
	names   []string                          // the names of the servers of the file
}

func (d *decoder) errorf(line int, key, format string, args ...any) *fault {
	return &fault{place{d.file, line, key}, fmt.Sprintf(format, args...)}
}

func (d *decoder) decode(root *node) ([]Server, error) {
	if err := d.checkKind(root, "", kindObject); err != nil {
		return nil, err
	}
	all, err := d.sections(root)
	if err != nil {
		return nil, err
	}
	var servers []Server
	indexes := map[string]int{}
	for _, s := range all {
		servers = d.appendServers(servers, indexes, s)
	}
	for _, name := range d.opts.Only {
		if _, ok := indexes[name]; !ok {
			return nil, d.errorf(1, "", "there is no server %s%s", quoteKey(name), d.suggestServers(name))
		}
	}
	return servers, nil
}

// maxSuggested bounds the servers that an error names.
const maxSuggested = 20

// suggestServers lists the servers of the file, for the error of a missing one.
func (d *decoder) suggestServers(name string) string {
	names := slices.Compact(slices.Sorted(slices.Values(d.names)))
	if len(names) == 0 {
		return ""
	}
	hint := "; "
	if near := spelling.Nearest(name, names); near != "" {
		hint += "did you mean " + quoteKey(near) + "? "
	}
	var some []string
	for _, n := range names[:min(len(names), maxSuggested)] {
		some = append(some, quoteKey(n))
	}
	if more := len(names) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return hint + "the file has " + strings.Join(some, ", ")
}

// appendServers appends the servers of one object, and adds their positions to indexes. A server that
// is there twice cannot be used, as either entry may be meant.
func (d *decoder) appendServers(all []Server, indexes map[string]int, in section) []Server {
	for _, s := range in.servers.value.members {
		d.names = append(d.names, s.key)
		if d.opts.Only != nil && !slices.Contains(d.opts.Only, s.key) {
			continue
		}
		key := in.key + "." + keyName(s.key)
		if first, twice := indexes[s.key]; twice {
			line := all[first].place.Line
			err := d.errorf(s.line, key, "this server is on line %d already", line)
			all[first] = Server{Name: s.key, place: place{d.file, line, key}, Transport: &undialable{err}, Err: err}
			continue
		}
		indexes[s.key] = len(all)
		all = append(all, d.server(key, s))
	}
	return all
}

// section is an object of servers in a document.
type section struct {
	key     string
	servers member
}

// unsupportedLists are keys of Gemini CLI that select servers, or add one, beside the objects of servers.
var unsupportedLists = map[string]string{
	"allowMCPServers":   leaveOut, // until 2025; then mcp.allowed and mcp.excluded
	"excludeMCPServers": leaveOut,
	"mcp.allowed":       leaveOut,
	"mcp.excluded":      leaveOut,
	"mcp.serverCommand": `write a server with this "command"`,
}

const leaveOut = `write "disabled": true in the servers to leave out`

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
				if inner.key == "servers" && inner.value.kind == kindObject {
					all = append(all, section{"mcp.servers", inner})
				} else if reason := unsupportedLists["mcp."+inner.key]; reason != "" {
					return nil, d.errorf(inner.line, "mcp."+inner.key, "not supported: %s", reason)
				}
			}
		case unsupportedLists[m.key] != "":
			return nil, d.errorf(m.line, m.key, "not supported: %s", unsupportedLists[m.key])
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
		name := serverKeys.canonical(m.key)
		return name == "command" && m.value.kind != kindObject || name == "url" && m.value.kind == kindString
	})
}

// noServersError returns the error for a document without servers. It names one that stands at the root.
func (d *decoder) noServersError(root *node) error {
	for _, m := range root.members {
		if m.value.isServer() {
			return d.errorf(m.line, keyName(m.key),
				`a server stands outside of "mcpServers"; did you mean {"mcpServers": {%s: …}}?`, quoteKey(m.key))
		}
	}
	return d.errorf(root.line, "", `no servers: want an object "mcpServers", or "servers" as in VS Code`)
}
