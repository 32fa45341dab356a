package person

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Answers are prepared values for fields of forms, by field, or before they are
// sorted by server, by server and field as in "files/date".
type Answers map[string]string

func (a Answers) String() string { return "" }

// Set reads key=value or server/key=value.
func (a Answers) Set(s string) error {
	key, value, found := strings.Cut(s, "=")
	if !found || key == "" {
		return errors.New("want key=value")
	}
	if _, dup := a[key]; dup {
		return fmt.Errorf("key %q is there twice", key)
	}
	a[key] = value
	return nil
}

// Of sorts the answers by server: no server gets an answer for another. A
// single server need not be named.
func (a Answers) Of(servers []string) (map[string]Answers, error) {
	sorted := map[string]Answers{}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		server, field := "", key
		for _, name := range servers {
			if rest, ok := strings.CutPrefix(key, name+"/"); ok && rest != "" && len(name) > len(server) {
				server, field = name, rest
			}
		}
		switch {
		case server == "" && len(servers) == 1:
			server = servers[0]
		case server == "" && len(servers) > 1:
			return nil, fmt.Errorf("-answer %s: say for which server, as in -answer %s/%s=value; there are %s",
				safetext.Line(key, 80), servers[0], safetext.Line(key, 80), strings.Join(servers, ", "))
		}
		if sorted[server] == nil {
			sorted[server] = Answers{}
		}
		if _, dup := sorted[server][field]; dup {
			return nil, fmt.Errorf("-answer: the field %s of the server %s is there twice", safetext.Line(field, 80), server)
		}
		sorted[server][field] = a[key]
	}
	return sorted, nil
}

// mistakes lists keys without a field, each under the field that it probably
// means, or under "" if it may be for another form. A field with an answer is
// not meant by another key.
func (a Answers) mistakes(fields []*mcp.Field) (near map[string]string, others []string) {
	near = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if slices.ContainsFunc(fields, func(f *mcp.Field) bool { return f.Name == key }) {
			continue
		}
		best, least := "", 2+len(key)/4
		for _, f := range fields {
			if _, given := a[f.Name]; given || len(f.Name) > 2*len(key)+2 {
				continue
			}
			if d := spelling.Distance(key, f.Name, least); d < least {
				best, least = f.Name, d
			}
		}
		if best == "" {
			others = append(others, key)
			continue
		}
		near[key] = best
	}
	return near, others
}
