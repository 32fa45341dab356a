package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestAssignNames(t *testing.T) {
	ids := func(pairs ...string) []identity {
		var out []identity
		for _, p := range pairs {
			server, tool, _ := strings.Cut(p, "|")
			out = append(out, identity{server: server, tool: tool})
		}
		return out
	}
	long := strings.Repeat("n", 80)
	for _, tt := range []struct {
		name     string
		prefixed bool
		ids      []identity
		want     []string
	}{
		{"plain", false, ids("a|read", "b|write"), []string{"read", "write"}},
		{"collision", false, ids("a|read", "b|read", "b|write"), []string{"a__read", "b__read", "write"}},
		{"collision without case", false, ids("a|Read", "b|read"), []string{"a__Read", "b__read"}},
		{"always", true, ids("a|read", "my server|x"), []string{"a__read", "my_server__x"}},
		{"illegal", false, ids("a|weird tool/name.v1", "a|日本"), []string{"weird_tool_name_v1", "__"}},
		{"illegal, colliding in one server", false, ids("a|x.y", "a|x_y"), []string{"a__x_y_76a80ebe", "a__x_y_8add198e"}},
		{"not a letter first", false, ids("a|21st_build", "a|-x"), []string{"_21st_build", "_-x"}},
		{"not a letter first, prefixed", true, ids("a|21st", "9|x"), []string{"a__21st", "_9__x"}},
		{"long, not a letter first", false, ids("a|1" + long), []string{"_1" + long[:53] + "_ada26d48"}},
		{"long", false, ids("a|" + long), []string{long[:55] + "_c2a773f6"}},
		{"empty", false, ids("a|"), []string{"_"}},
		{"none", true, nil, []string{}},
	} {
		check.Same(t, tt.name, assignNames(tt.ids, tt.prefixed), tt.want)
	}
}

// A server must not take the name of another server's tool by choosing the same name.
func TestNamesCannotBeTaken(t *testing.T) {
	for _, victims := range [][]identity{
		{{server: "bank", tool: "pay"}},
		{{server: "bank", tool: "pay"}, {server: "shop", tool: "pay"}},         // prefixed
		{{server: "bank", tool: "pay.now"}, {server: "bank", tool: "pay_now"}}, // hashed
	} {
		name := assignNames(victims, false)[0]
		for _, taken := range []string{name, strings.ToUpper(name)} {
			got := assignNames(append(slices.Clone(victims), identity{server: "evil", tool: taken}), false)[len(victims)]
			check.That(t, !strings.EqualFold(got, name), "got %q for a tool of evil, want the name of %v out of its reach", got, victims[0])
		}
	}
}

// Two servers whose names are the same once they are legal: neither keeps a shortened name that the other one wants.
func TestShortenedNamesAreNotKept(t *testing.T) {
	ids := []identity{{server: "bank_", tool: strings.Repeat("pay", 30)}}
	name := assignNames(ids, true)[0]
	ids = append(ids, identity{server: "bank.", tool: strings.TrimPrefix(name, "bank___")})
	for i, got := range assignNames(ids, true) {
		check.That(t, got != name, "tool of %s: got %q, want a name that tells the two apart", ids[i].server, got)
	}
}

var legal = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func TestNamesAreLegalUniqueAndIndependentOfOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "A", "b", "_", ".", "/", "é", "__", "read", strings.Repeat("x", 30)}
	word := func() string {
		var b strings.Builder
		for range rng.IntN(5) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 300 {
		set := map[identity]bool{}
		for range 1 + rng.IntN(30) {
			set[identity{server: fmt.Sprintf("s%d%s", rng.IntN(3), word()), tool: word()}] = true
		}
		ids := slices.Collect(maps.Keys(set))
		for _, prefixed := range []bool{false, true} {
			names := assignNames(ids, prefixed)
			byID, seen := map[identity]string{}, map[string]identity{}
			for i, name := range names {
				other, taken := seen[strings.ToUpper(name)]
				check.That(t, legal.MatchString(name) && !taken, "got the name %q for %v and %v, want it legal, and for one", name, ids[i], other)
				seen[strings.ToUpper(name)], byID[ids[i]] = ids[i], name
			}
			shuffled := slices.Clone(ids)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			for i, name := range assignNames(shuffled, prefixed) {
				check.Equal(t, "in another order", name, byID[shuffled[i]])
			}
		}
	}
}

func TestMatching(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true}, {"read", "reads", false}, {"", "", true}, {"", "x", false},
		{"*", "", true}, {"read_*", "read_file", true}, {"*_file", "read_file", true}, {"r*d*e", "read_file", true},
		{"r*x*", "read_file", false}, {"read?file", "read_file", true}, {"?", "é", true}, {"??", "é", false},
		{"a/*", "a/b/c", true}, {"[a]", "a", false}, {"[a]", "[a]", true}, {"**b", "ab", true},
		{strings.Repeat("*a", 1000) + "b", strings.Repeat("a", 2000), false},
	} {
		got := matchesAny([]string{tt.pattern}, tt.name)
		check.That(t, got == tt.want, "%.20q and %.20q: got %v, want %v", tt.pattern, tt.name, got, tt.want)
	}
	check.That(t, !matchesAny(nil, ""), "got a match without patterns")
}

func TestAllowAndDeny(t *testing.T) {
	for _, tt := range []struct {
		server Server
		want   []string
	}{
		{Server{}, []string{"delete_file", "read_dir", "read_file"}},
		{Server{Allow: []string{"read_*"}}, []string{"read_dir", "read_file"}},
		{Server{Deny: []string{"delete_*", "x"}}, []string{"read_dir", "read_file"}},
		{Server{Allow: []string{"*_file"}, Deny: []string{"delete_*"}}, []string{"read_file"}},
		{Server{Allow: []string{"read_*"}, Filter: declaresReadOnly}, []string{"read_file"}},
		{Server{Deny: []string{"*"}}, []string{}},
	} {
		p := newPeer().tool("read_dir", object, echo).tool("delete_file", object, echo)
		p.AddTool(&sdk.Tool{Name: "read_file", InputSchema: json.RawMessage(object), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, echo)
		tt.server.Name, tt.server.Transport = "p", p.transport(t)
		check.Same(t, fmt.Sprintf("%v %v", tt.server.Allow, tt.server.Deny), toolNamesOf(open(t, nil, tt.server)), tt.want)
	}
	denies := &mcp.Tool{Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false)}}
	check.That(t, !declaresReadOnly(denies), "a tool that denies it counts as read-only")
}

// TestUnmatched checks that the status names entries of Allow and Deny that match no tool.
func TestUnmatched(t *testing.T) {
	p := newPeer().tool("greet", object, echo).tool("pay", object, echo)
	tools := open(t, nil, Server{Name: "p", Transport: p.transport(t), Allow: []string{"*", "gr*", "nosuch"}, Deny: []string{"payy", "p?y?"}})
	check.Same(t, "unmatched", tools.Servers()[0].Unmatched, []string{"nosuch", "payy", "p?y?"})
}
