package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The tools by which a model finds others and calls what it found.
const (
	searchTool   = "search_tools"
	callTool     = "call_tool"
	searchServer = "discovery" // in place of a server's label
)

// Bounds of a search.
const (
	defaultFound   = 5    // tools
	maxFound       = 10   // tools
	maxBrowsed     = 100  // names in a list of a server's tools
	maxQuery       = 1024 // bytes of a query
	maxDescription = 200  // bytes of a tool's description

	maxDefinition     = 16 << 10 // bytes of one definition in a result
	maxAllDefinitions = 40 << 10 // bytes of all definitions in one result
)

// searchSchema describes a [query]. It repeats maxFound and defaultFound.
const searchSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string",` +
	`"description":"What the tool should do, in a few words. Or select: with the names of tools, such as select:read_file,write_file."},` +
	`"server":{"type":"string","description":"Search this server only. Without a query its tools are listed."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":10,"description":"How many tools to find, 5 by default."}},"additionalProperties":false}`

// callSchema describes the arguments of call_tool, see parseCallTool.
const callSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The name of a tool that ` + searchTool + ` has found."},` +
	`"arguments":{"type":"object","description":"Its arguments, as its parameters say."}},"required":["name"]}`

// callDefinition is call_tool as models get it.
var callDefinition = model.Tool{
	Name: callTool, Description: "Calls a tool that " + searchTool + " has found.", Schema: json.RawMessage(callSchema),
}

// newSearch returns the tool search_tools.
func newSearch(p profile.Profile) (ownTool, error) {
	def := &mcp.Tool{
		Name:        searchTool,
		Description: "Finds tools by what they should do. Search before you say that something cannot be done.",
		InputSchema: json.RawMessage(searchSchema),
	}
	search, err := adapter.NewFuncTool(def, runSearch, &adapter.FuncOptions{Server: searchServer, ReadOnly: true})
	if err != nil {
		return ownTool{}, err
	}
	return newOwnTool(search, p), nil
}

// isCallOf reports whether a call is a call of t, a tool of this program.
func isCallOf(c *ledger.Call, t *adapter.Tool) bool {
	return c.Server == t.Server() && c.Tool == t.Definition().Name && c.Def == t.Fingerprint()
}

// isSameName reports whether a model's name is a tool's, regardless of case and surrounding spaces.
func isSameName(name, tool string) bool { return strings.EqualFold(strings.TrimSpace(name), tool) }

// parseCallTool parses the arguments of call_tool: a name, and arguments as an object or as its text.
func parseCallTool(arguments string) (name, given string, err error) {
	var a struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal([]byte(arguments), &a); err != nil {
		return "", "", err
	}
	if a.Name == "" || isSameName(a.Name, searchTool) || isSameName(a.Name, callTool) {
		return "", "", errors.New("names no tool that was found")
	}
	given = string(a.Arguments)
	var text string
	if json.Unmarshal(a.Arguments, &text) == nil {
		given = text
	}
	return a.Name, given, nil
}

// searchKey is the context key of the run's *searcher, for a call of search_tools.
type searchKey struct{}

// query is the input of search_tools.
type query struct {
	Query, Server string
	Limit         int
}

// runSearch is the function of search_tools.
func runSearch(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	f, ok := ctx.Value(searchKey{}).(*searcher)
	if !ok {
		return nil, errors.New("tools can only be searched within a run")
	}
	var q query
	if err := json.Unmarshal(arguments, &q); err != nil {
		return nil, err
	}
	if len(q.Query) > maxQuery {
		return nil, fmt.Errorf("query is longer than %d bytes", maxQuery)
	}
	text, added, err := f.search(ctx, &q)
	if err != nil {
		return nil, err
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	if len(added) > 0 && f.rec.state.Discovery == ledger.DiscoveryProvider {
		result.StructuredContent, err = json.Marshal(added)
	}
	return result, err
}

// searcher searches tools for the model of a run.
type searcher struct{ shared }

// search finds tools, adds them to the model's tools, and describes them. added has the names of the
// new ones. For a server without a query it only lists the tools. If no tool fits, the text says so.
func (f *searcher) search(ctx context.Context, q *query) (text string, added []string, err error) {
	catalog := f.offered()
	fits := func(t *adapter.Tool) bool {
		return !isAnswerTool(t) && (q.Server == "" || isSameName(q.Server, t.Server()))
	}
	limit := min(cmp.Or(q.Limit, defaultFound), maxFound)
	words := strings.TrimSpace(q.Query)
	names, selects := strings.CutPrefix(words, "select:")
	var found []*adapter.Tool
	switch {
	case selects:
		found = selectTools(catalog, strings.Split(names, ","), fits)
		found = found[:min(len(found), maxFound)]
	case words == "" && q.Server == "":
		return "", nil, errors.New("say what the tool should do, or name a server")
	case words == "":
		return browse(catalog, fits), nil, nil
	default:
		found = f.rank(ctx, catalog, words, fits)
		found = found[:min(len(found), limit)]
	}
	if len(found) == 0 {
		return "No tool fits. Other words may find one, or the name of a server lists its tools.", nil, nil
	}
	text, added, err = f.offer(catalog, found)
	if !selects && err == nil {
		text += describeServed(found, words, limit)
	}
	return text, added, err
}

// describeServed lists the search topics of the found functions that match the words, such as skills.
// Names and descriptions may come from servers.
func describeServed(found []*adapter.Tool, words string, limit int) string {
	var b strings.Builder
	for _, t := range found {
		first := true
		for name, description := range t.SearchTopics(words, limit) {
			if first {
				fmt.Fprintf(&b, "\n%s has these, by name:", t.Name())
			}
			first = false
			fmt.Fprintf(&b, "\n- %s: %q", excerpt.Line(name, maxLabel), excerpt.Line(description, maxDescription))
		}
	}
	return b.String()
}

// selectTools returns the tools with these names, in the catalog or at their servers.
func selectTools(c *adapter.Catalog, names []string, fits func(*adapter.Tool) bool) (found []*adapter.Tool) {
	for _, t := range c.Tools() {
		isNamed := func(n string) bool { return isSameName(n, t.Name()) || isSameName(n, t.Definition().Name) }
		if fits(t) && slices.ContainsFunc(names, isNamed) {
			found = append(found, t)
		}
	}
	return found
}

// browse lists tools without adding them.
func browse(c *adapter.Catalog, fits func(*adapter.Tool) bool) string {
	var b strings.Builder
	count := 0
	for _, t := range c.Tools() {
		if !fits(t) {
			continue
		}
		count++
		if count <= maxBrowsed {
			b.WriteString("\n- " + t.Name())
		}
	}
	switch {
	case count == 0:
		return "There is no such server."
	case count > maxBrowsed:
		fmt.Fprintf(&b, "\nand %d more", count-maxBrowsed)
	}
	return "Its tools are these; " + searchTool + " with select: and names adds them:" + b.String()
}

// Tools are ranked by reciprocal ranks.
const (
	maxRanked = 100 // tools of each order that are merged
	mergeRank = 60  // the larger, the less the first ranks count; 60 is usual
)

// rank orders tools by how well they match the words, by the index of the catalog and by
// Discover.Rank. If that fails, the run is warned, and the index alone decides.
func (f *searcher) rank(
	ctx context.Context, c *adapter.Catalog, words string, fits func(*adapter.Tool) bool,
) []*adapter.Tool {
	all := c.Tools()
	misfits := func(t *adapter.Tool) bool { return !fits(t) }
	found := slices.DeleteFunc(c.Search(words, len(all)), misfits)
	rank := f.agent.opts.Discover.Rank
	if rank == nil {
		return found
	}
	all = slices.DeleteFunc(all, misfits)
	var ranked []*adapter.Tool // by the host
	err := guard("Discover.Rank", func() (err error) {
		ranked, err = rank(ctx, words, slices.Clone(all))
		return err
	})
	if err != nil {
		f.rec.show(&Warning{Text: fmt.Sprintf("Discover.Rank: %v", err)})
		return found
	}
	return mergeRanks(all, found, ranked)
}

// mergeRanks merges two orders of tools by reciprocal ranks. It ignores tools that are not in all,
// whose order breaks ties.
func mergeRanks(all, one, two []*adapter.Tool) []*adapter.Tool {
	score := make(map[*adapter.Tool]float64, len(all))
	for _, t := range all {
		score[t] = 0
	}
	for _, order := range [][]*adapter.Tool{one, two} {
		rank, seen := 0, map[*adapter.Tool]bool{}
		for _, t := range order {
			if _, known := score[t]; !known || seen[t] {
				continue
			}
			seen[t] = true
			if rank < maxRanked {
				rank++
				score[t] += 1 / float64(mergeRank+rank)
			}
		}
	}
	found := slices.DeleteFunc(slices.Clone(all), func(t *adapter.Tool) bool { return score[t] == 0 })
	slices.SortStableFunc(found, func(a, b *adapter.Tool) int { return cmp.Compare(score[b], score[a]) })
	return found
}
